/* Follows a stream of traffic matrices from C: a publisher's, or the archives in a folder. Windows come in order, and
 * every one that was lost on the way is told, once. subscriber.hpp is the same for C++; docs/library.md says more.
 *
 *   trama_subscriber *subscriber = trama_open("trama+tcp://127.0.0.1:7801/roof", NULL);
 *   trama_window *window;
 *   int result;
 *   while ((result = trama_next(subscriber, -1, &window)) == TRAMA_WINDOW) {
 *     use(trama_window_packets(window), trama_window_missed(window));
 *     trama_window_free(window);
 *   }
 *   if (result < 0) fprintf(stderr, "%s\n", trama_error_text());
 *   trama_close(subscriber);
 *
 * What every function keeps to:
 *   - Nothing is thrown. An argument that is NULL and must not be is an error: functions that return a result give
 *     TRAMA_E_ARGUMENT, the others NULL, 0 or "". Functions that free take NULL and do nothing.
 *   - After an error the calling thread finds its text and what mends it in trama_error_text() and trama_error_hint().
 *   - Options and subscribers are for one thread at a time. A window is only read: any number of threads may.
 *   - Texts end with a zero byte. Those of a window are as the sender gave them: not for a terminal as they are.
 *   - What is here keeps its meaning as long as the library is libtrama.so.0. Functions and constants may be added: a
 *     value that isn't named here is one of a later version.
 */
#ifndef TRAMA_H
#define TRAMA_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct trama_options trama_options;
typedef struct trama_subscriber trama_subscriber;
typedef struct trama_window trama_window;

enum {
  TRAMA_OK = 0,
  TRAMA_WINDOW = 1,      /* trama_next: here is one */
  TRAMA_TIMEOUT = 2,     /* trama_next: none came in time */
  TRAMA_ENDED = 3,       /* trama_next: the publisher's run, or a folder that isn't followed; every call after it too */
  TRAMA_E_ARGUMENT = -1, /* the caller's mistake */
  TRAMA_E_STREAM = -2,   /* nothing more can come; every call after it gives it again */
  TRAMA_E_MEMORY = -3    /* not enough of it; the call may be made again */
};

/* "0.1.0" */
const char* trama_version(void);

/* Of the last call on this thread that was an error; "" when there was none. Valid until the next call on this thread.
 * Neither holds an address of a packet, an index or a key. */
const char* trama_error_text(void); /* what happened: one sentence without a full stop */
const char* trama_error_hint(void); /* what mends it; may be "" */

/* --- Options ------------------------------------------------------------------------------------------------------ */

/* As if none were given. NULL: out of memory. Whoever makes them frees them; trama_open() copies what it needs. */
trama_options* trama_options_new(void);
void trama_options_free(trama_options* options);

/* Where to begin. The last one that was called holds; without any: live. */
int trama_options_start_live(trama_options* options);                    /* with the next window */
int trama_options_start_number(trama_options* options, uint64_t number); /* with this one of the present run */
int trama_options_start_last(trama_options* options, uint64_t windows);  /* with the last so many */
int trama_options_start_time(trama_options* options, int64_t time_ns); /* with packets of this time; since the epoch */

/* Windows that may wait here, 1 .. 256 (8). */
int trama_options_ahead(trama_options* options, size_t windows);
/* Not 0: when windows come faster than they are taken, the oldest that waits here is dropped; else (0) they wait at the
 * publisher, which drops what its own queue can't hold. */
int trama_options_drop(trama_options* options, int drop);
/* 0: a connection that fails is an error (1). */
int trama_options_reconnect(trama_options* options, int reconnect);
/* Not 0: wait for a publisher's next run when one has ended (0). */
int trama_options_past_end(trama_options* options, int past_end);
/* Of a folder: 0 ends the stream behind the last archive, else more are waited for (1). */
int trama_options_follow(trama_options* options, int follow);
/* So many seconds without a sign of life from the publisher, and the connection is made anew (5); above 0. */
int trama_options_silence(trama_options* options, double seconds);
/* Longer messages end the connection (64 MiB). */
int trama_options_max_bytes(trama_options* options, uint64_t bytes);
/* Windows with more links are refused, and count as damaged (2^26). */
int trama_options_max_links(trama_options* options, uint64_t links);
/* For publishers that encrypt: their public key and this subscriber's secret one, 40 characters of Z85 each. */
int trama_options_keys(trama_options* options, const char* publisher_public, const char* own_secret);
/* For NATS servers that want more than a name: files, as streams.md has them. NULL: none. */
int trama_options_nats_tls(trama_options* options, const char* ca, const char* certificate, const char* key);
int trama_options_nats_credentials(trama_options* options, const char* file);
int trama_options_nats_login(trama_options* options, const char* file);

/* --- Subscribers -------------------------------------------------------------------------------------------------- */

/* Returns at once; a publisher that isn't there yet is waited for. `options` may be NULL. NULL: a URL or options that
 * can't be, a folder that isn't there. */
trama_subscriber* trama_open(const char* url, const trama_options* options);
/* Windows that were taken stay valid. */
void trama_close(trama_subscriber* subscriber);

/* The next window, or what happened instead: one of the results above. *window is then NULL but with TRAMA_WINDOW, when
 * it is the caller's to free. A timeout of 0 only looks; a negative one waits for ever. */
int trama_next(trama_subscriber* subscriber, int64_t timeout_ms, trama_window** window);

/* Readable when trama_next() would not time out at once, for poll() and event loops. Belongs to the subscriber: don't
 * read from it, don't close it. -1: NULL was given. */
int trama_descriptor(const trama_subscriber* subscriber);
/* 1: a publisher is there now; always for a folder. */
int trama_connected(const trama_subscriber* subscriber);

/* Windows lost behind the last one that came: known once trama_next() has given TRAMA_ENDED or TRAMA_E_STREAM. */
uint64_t trama_missed_at_end(const trama_subscriber* subscriber);
/* So far: */
uint64_t trama_count_windows(const trama_subscriber* subscriber); /* given by trama_next() */
uint64_t trama_count_missed(const trama_subscriber* subscriber);  /* told: of all windows, and at the end */
uint64_t trama_count_damaged(const trama_subscriber* subscriber); /* came and could not be read: windows, or archives */
uint64_t trama_count_sessions(const trama_subscriber* subscriber); /* connections that were made */

/* --- Windows ------------------------------------------------------------------------------------------------------ */

void trama_window_free(trama_window* window);

/* Windows of the stream that were lost right before this one, since the window before it or since the place where the
 * subscriber wanted to begin. */
uint64_t trama_window_missed(const trama_window* window);
/* 1: the first one of another run than the window before it; numbers began anew. */
int trama_window_restarted(const trama_window* window);

uint64_t trama_window_run(const trama_window* window); /* tells the runs of a publisher apart; 0 from archives */
uint64_t trama_window_seq(const trama_window* window); /* number in its run */
uint64_t trama_window_full_packets(const trama_window* window); /* that a full window of this stream has */
uint64_t trama_window_packets(const trama_window* window);      /* the sum of all counts */
int64_t trama_window_first_ns(const trama_window* window);      /* times of packets: ns since the epoch, UTC */
int64_t trama_window_last_ns(const trama_window* window);

enum {
  TRAMA_CLOSED_FULL = 0,
  TRAMA_CLOSED_END = 1,        /* of the run */
  TRAMA_CLOSED_TIME = 2,       /* a window timeout */
  TRAMA_CLOSED_KEY = 3,        /* another key */
  TRAMA_CLOSED_EXCLUSIONS = 4, /* other privacy ranges */
  TRAMA_CLOSED_FLUSH = 5       /* asked for */
};
int trama_window_closed_by(const trama_window* window); /* -1: NULL was given */

/* What happened to the packets that arrived while the window was filled; each is under one of these (counting.md). */
enum {
  TRAMA_COUNTED = 0,
  TRAMA_EXCLUDED = 1,
  TRAMA_FILTERED = 2,
  TRAMA_IPV6 = 3,
  TRAMA_NOT_IP = 4,
  TRAMA_MALFORMED = 5,
  TRAMA_CUT = 6,
  TRAMA_UNKNOWN_LINK = 7,
  TRAMA_SEEN = 8 /* the sum of the others */
};
uint64_t trama_window_verdict(const trama_window* window, int verdict);
/* The same of what arrived after the last window of the runs that have ended. */
uint64_t trama_tail_verdict(const trama_subscriber* subscriber, int verdict);

/* Lost before they were seen. */
enum { TRAMA_DROPPED_KERNEL = 0, TRAMA_DROPPED_NIC = 1, TRAMA_DROPPED_RING = 2 };
uint64_t trama_window_dropped(const trama_window* window, int where);
uint64_t trama_window_removed_in_kernel(const trama_window* window); /* by an XDP program; neither seen nor dropped */

/* Valid as long as the window. */
const char* trama_window_sensor(const trama_window* window);
const char* trama_window_stream(const trama_window* window);
const char* trama_window_graph(const trama_window* window);         /* SHA-256 of the graph that made it */
const char* trama_window_anonymization(const trama_window* window); /* "crypto-pan-aes128" or "none" */
const char* trama_window_key(const trama_window* window);           /* fingerprint; "" without anonymization */
const char* trama_window_exclusions(const trama_window* window);    /* mark of the privacy ranges; "" without any */

/* The matrix: 2^32 x 2^32, a row for each source, a column for each destination, by row, only rows that have entries.
 * Row rows[i] has the entries starts[i] .. starts[i + 1] of `columns` and `counts`; rows, and columns within a row,
 * ascend. There are n_rows values in rows, n_rows + 1 in starts, n_links in columns and counts. All of it was checked.
 * Valid as long as the window. */
size_t trama_window_n_rows(const trama_window* window);
size_t trama_window_n_links(const trama_window* window);
const uint32_t* trama_window_rows(const trama_window* window);
const uint32_t* trama_window_starts(const trama_window* window);
const uint32_t* trama_window_columns(const trama_window* window);
const uint32_t* trama_window_counts(const trama_window* window);
/* 1: index 0x04030201 is address 1.2.3.4; 0: 0x01020304 is, so that prefixes are ranges of indices. */
int trama_window_raw_order(const trama_window* window);

/* The matrix as it came (formats.md), and how many bytes that are. Valid as long as the window. */
enum {
  TRAMA_BLOB = 1,      /* GraphBLAS' own serialization, as in archives; not compressed */
  TRAMA_BLOB_LZ4 = 2,  /* the same with LZ4 */
  TRAMA_BLOB_ZSTD = 3, /* the same with Zstandard */
  TRAMA_COMPACT = 4    /* Trama's own */
};
int trama_window_encoding(const trama_window* window); /* -1: NULL was given */
const void* trama_window_serialized(const trama_window* window, size_t* bytes);

#ifdef __cplusplus
}
#endif
#endif
