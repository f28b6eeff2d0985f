/* The sum of all windows of a stream, with GraphBLAS: sum URL NUMBER begins with window NUMBER, and ends with the
 * publisher's run, or with the last archive of a folder. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <trama/trama_graphblas.h>

/* sum += window */
static int add(GrB_Matrix sum, const trama_window* window) {
  GrB_Matrix matrix = NULL;
  GrB_Info info = trama_window_matrix(&matrix, window);
  if (info == GrB_SUCCESS) info = GrB_Matrix_eWiseAdd_BinaryOp(sum, NULL, NULL, GrB_PLUS_UINT64, sum, matrix, NULL);
  GrB_Matrix_free(&matrix);
  if (info != GrB_SUCCESS)
    fprintf(stderr, "window %" PRIu64 ": GraphBLAS says %d\n", trama_window_seq(window), (int)info);
  return info == GrB_SUCCESS;
}

static int add_all(trama_subscriber* subscriber, GrB_Matrix sum) {
  trama_window* window;
  int result;
  while ((result = trama_next(subscriber, -1, &window)) == TRAMA_WINDOW) {
    const int added = add(sum, window);
    printf("window %" PRIu64 ", missed %" PRIu64 "\n", trama_window_seq(window), trama_window_missed(window));
    fflush(stdout);
    trama_window_free(window);
    if (!added) return EXIT_FAILURE;
  }
  if (result == TRAMA_ENDED) return EXIT_SUCCESS;
  fprintf(stderr, "%s. %s\n", trama_error_text(), trama_error_hint());
  return EXIT_FAILURE;
}

int main(int count, char** arguments) {
  if (count != 3) {
    fprintf(stderr, "usage: %s URL NUMBER\n", arguments[0]);
    return 2;
  }
  trama_options* options = trama_options_new();
  trama_options_start_number(options, strtoull(arguments[2], NULL, 10));
  trama_options_follow(options, 0);
  trama_subscriber* subscriber = trama_open(arguments[1], options);
  trama_options_free(options);
  if (subscriber == NULL) {
    fprintf(stderr, "%s: %s. %s\n", arguments[1], trama_error_text(), trama_error_hint());
    return EXIT_FAILURE;
  }

  GrB_init(GrB_NONBLOCKING);
  GrB_Matrix sum = NULL;
  GrB_Matrix_new(&sum, GrB_UINT64, (GrB_Index)1 << 32, (GrB_Index)1 << 32);
  const int status = add_all(subscriber, sum);
  trama_close(subscriber);

  uint64_t packets = 0;
  GrB_Index links = 0;
  GrB_Matrix_reduce_UINT64(&packets, NULL, GrB_PLUS_MONOID_UINT64, sum, NULL);
  GrB_Matrix_nvals(&links, sum);
  printf("sum: %" PRIu64 " packets on %" PRIu64 " links\n", packets, (uint64_t)links);
  GrB_Matrix_free(&sum);
  GrB_finalize();
  return status;
}
