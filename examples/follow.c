/* A line for each window of a stream, as it comes.
 *
 *   follow URL           from the next window on, until the publisher's run ends
 *   follow URL NUMBER    from window NUMBER on; of a folder of archives, to its last one
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <trama/trama.h>

static int fail(const char* what) {
  fprintf(stderr, "%s: %s. %s\n", what, trama_error_text(), trama_error_hint());
  return EXIT_FAILURE;
}

static void print_window(const trama_window* window) {
  printf("window %" PRIu64 ": %" PRIu64 " packets on %zu links from %zu sources, missed %" PRIu64 "\n",
         trama_window_seq(window), trama_window_packets(window), trama_window_n_links(window),
         trama_window_n_rows(window), trama_window_missed(window));
  fflush(stdout);
}

int main(int count, char** arguments) {
  if (count < 2) {
    fprintf(stderr, "usage: %s URL [NUMBER]\n", arguments[0]);
    return 2;
  }
  trama_options* options = trama_options_new();
  if (count > 2) {
    trama_options_start_number(options, strtoull(arguments[2], NULL, 10));
    trama_options_follow(options, 0);
  }
  trama_subscriber* subscriber = trama_open(arguments[1], options);
  trama_options_free(options);
  if (subscriber == NULL) return fail(arguments[1]);

  trama_window* window;
  int result;
  while ((result = trama_next(subscriber, -1, &window)) == TRAMA_WINDOW) {
    print_window(window);
    trama_window_free(window);
  }
  const int status = result == TRAMA_ENDED ? EXIT_SUCCESS : fail(arguments[1]);
  printf("%" PRIu64 " windows, missed %" PRIu64 "\n", trama_count_windows(subscriber), trama_count_missed(subscriber));
  trama_close(subscriber);
  return status;
}
