/* A ClickHouse server process out of libchdb.so (x86-64 Linux), for tests only.
 *
 *   chhost LIBCHDB HOST PORT [clickhouse-local arguments...]
 *
 * libchdb.so holds the whole of clickhouse-local, which can listen for the native protocol and for
 * HTTP (SYSTEM START LISTEN). That alone needs nothing patched: HOST and PORT "-" "-".
 *
 * For replicas it lacks what clickhouse-server's main() does besides. With HOST and PORT, the
 * address that other replicas fetch parts from, this is done in memory after loading:
 *  - Context::getInterserverIOAddress, ...Scheme and ...Credentials answer: HOST and PORT, http,
 *    none (nothing in clickhouse-local sets them);
 *  - of two HTTP listeners (<listen_host> twice), the second is the engine's own interserver one;
 *  - the pool that makes the tables of Replicated databases is initialised;
 *  - replicated DDL is allowed, and the engine's own DDLWorker (ON CLUSTER) is started.
 * offsets.h is made by find-offsets.mjs and belongs to one build of the library, which is checked.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "offsets.h"

static uint8_t *base;
static void fail(const char *what) { fprintf(stderr, "chhost: %s\n", what); _exit(2); }

/* Of libc++ as ClickHouse builds it: strings in the alternate layout, shared_ptr in two registers. */
union Str { struct { const char *data; uint64_t size, cap; } l; char s[24]; };
struct Shared { void *object, *control; };
struct Address { union Str host; uint16_t port; };

static union Str string(const char *text) {
  union Str s = {.l = {0, 0, 0}};
  size_t n = strlen(text);
  if (n < 23) { memcpy(s.s, text, n); s.s[23] = (char)n; return s; }
  s.l.data = strdup(text); s.l.size = n; s.l.cap = (n + 1) | 1ul << 63;
  return s;
}

static struct Address address;
static struct Address *io_address(struct Address *out, void *self) { (void)self; *out = address; return out; }
static union Str *io_scheme(union Str *out, void *self) { (void)self; *out = string("http"); return out; }
/* InterserverCredentials: user, password, vector<pair<user, password>> of those that are let in. */
static char nobody[48];
static struct { union Str user, password; char *begin, *end, *cap; } credentials = {.begin = nobody, .end = nobody + 48, .cap = nobody + 48};
static struct Shared io_credentials(void *self) { (void)self; return (struct Shared){&credentials, 0}; }
static int can_replicated_ddl(void *self) { (void)self; return 1; }

/* `server` is an IServer, whose third virtual function is context(). */
static void start_ddl_worker(void *server) {
  struct Shared (*context)(void *) = (*(void ***)server)[2];
  void (*construct)(void *, int, union Str *, union Str *, struct Shared, void *, union Str *, union Str *, union Str *, void *, void *) = (void *)(base + OFF_DDL_WORKER);
  union Str queue = string("/clickhouse/task_queue/ddl"), replicas = string("/clickhouse/task_queue/replicas");
  union Str prefix = string("distributed_ddl"), keeper = string("default"), log = string("DDLWorker");
  void *worker = calloc(1, 4096);
  struct Shared global = context(server);
  char *shared = *(char **)global.object;
  construct(worker, 1, &queue, &replicas, global, 0, &prefix, &keeper, &log, 0, 0);
  *(void **)(shared + SHARED_DDL_WORKER) = worker;
  ((void (*)(void *))(base + OFF_DDL_STARTUP))(worker);
}

static union Str interserver;
static int listeners;
/* Called where a listener gets its handlers. Returns the name to choose them by. */
void *choose_name(union Str *name, void *server) {
  if (name->s[23] != 19 || memcmp(name->s, "HTTPHandler-factory", 19)) return name;
  if (++listeners == 1) {
    void *pool = ((void *(*)(void))(base + OFF_CREATE_TABLES_POOL))();
    ((void (*)(void *, size_t, size_t, size_t))(base + OFF_POOL_INITIALIZE))(pool, 4, 0, 4);
    start_ddl_worker(server);
  }
  return listeners == 2 ? &interserver : name;
}
void *factory_rest;
void factory_hook(void);
__asm__(
  "factory_hook:\n"
  "push %rdi\n push %rsi\n push %rdx\n push %rcx\n push %r8\n push %r9\n sub $8,%rsp\n"
  "mov %rdi,%rsi\n mov %rcx,%rdi\n call choose_name\n"
  "add $8,%rsp\n pop %r9\n pop %r8\n pop %rcx\n pop %rdx\n pop %rsi\n pop %rdi\n"
  "mov %rax,%rcx\n"
  /* The instructions that the jump to here replaced. */
  "push %rbp\n push %r15\n push %r14\n push %r13\n push %r12\n push %rbx\n sub $0x98,%rsp\n"
  "mov factory_rest(%rip),%rax\n jmp *%rax\n");

static void patch(uint64_t offset, void *to) {
  uint8_t *at = base + offset;
  void *page = (void *)((uintptr_t)at & ~4095ul);
  if (mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC)) fail("mprotect");
  at[0] = 0x48; at[1] = 0xb8; memcpy(at + 2, &to, 8); at[10] = 0xff; at[11] = 0xe0; /* mov to,%rax; jmp *%rax */
  mprotect(page, 8192, PROT_READ | PROT_EXEC);
}

static int is_build;
static int look(struct dl_phdr_info *info, size_t size, void *wanted) {
  (void)size;
  if (info->dlpi_addr != (uintptr_t)base) return 0;
  for (int i = 0; i < info->dlpi_phnum; i++) if (info->dlpi_phdr[i].p_type == PT_NOTE) {
    const uint8_t *note = (uint8_t *)info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    char hex[41] = "";
    for (int k = 0; k < 20; k++) sprintf(hex + 2 * k, "%02x", note[16 + k]);
    is_build |= !strcmp(hex, wanted);
  }
  return 1;
}

int main(int argc, char **argv) {
  if (argc < 5) fail("usage: chhost LIBCHDB HOST PORT [clickhouse-local arguments...]");
  prctl(PR_SET_PDEATHSIG, SIGKILL); /* It ends with its parent. */
  void *lib = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!lib) fail(dlerror());
  void *(*cmdline)(int, char **) = dlsym(lib, "chdb_query_cmdline");
  const char *(*result_error)(void *) = dlsym(lib, "chdb_result_error");
  Dl_info info;
  if (!cmdline || !dladdr((void *)cmdline, &info)) fail("no chdb_query_cmdline in the library");
  base = info.dli_fbase;
  if (strcmp(argv[2], "-")) {
    dl_iterate_phdr(look, (void *)BUILD_ID);
    if (!is_build) fail("offsets.h is of another build of libchdb.so: run find-offsets.mjs");
    address.host = string(argv[2]); address.port = (uint16_t)atoi(argv[3]);
    interserver = string("InterserverIOHTTPHandler-factory");
    patch(OFF_IO_ADDRESS, (void *)io_address);
    patch(OFF_IO_SCHEME, (void *)io_scheme);
    patch(OFF_IO_CREDENTIALS, (void *)io_credentials);
    patch(OFF_CAN_REPLICATED_DDL, (void *)can_replicated_ddl);
    factory_rest = base + OFF_FACTORY + 17;
    patch(OFF_FACTORY, (void *)factory_hook);
  }
  argv[3] = "clickhouse";
  void *result = cmdline(argc - 3, argv + 3);
  const char *error = result ? result_error(result) : "no result";
  if (error) fprintf(stderr, "%s\n", error);
  _exit(error != 0); /* Handlers at exit would wait for threads. */
}
