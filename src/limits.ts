/**
 * Every bound of the service, in one place. Relations between them are asserted at load, each
 * has a test that hits it, and each that a client can meet is named in the error it causes.
 */
import assert from 'node:assert/strict'

const KIB = 1024
const MIB = 1024 * KIB

// --- Requests ---------------------------------------------------------------------------------

/** A request body, as sent and again after decompression (spec, Limits). */
export const BODY_BYTES_MAX = 10 * MIB
/** One event's JSON, or one text line, as sent. A larger one is rejected alone. */
export const EVENT_BYTES_MAX = 1 * MIB
/** Nesting of objects and arrays in one event; the event itself is depth 1. */
export const DEPTH_MAX = 256
/** The index in a bulk request's path, as JSON; a longer one is not repeated in items. */
export const BULK_INDEX_BYTES_MAX = 255
/** An item of a bulk reply beside the index and the id that its action names. */
export const BULK_ITEM_BYTES_MAX = 640
/**
 * Items of one bulk reply; a request that makes more is refused. They can be many times the body,
 * in which four bytes are enough for an action and its document (both malformed). A usual item has
 * 180 bytes.
 */
export const BULK_REPLY_BYTES_MAX = 24 * MIB
/** How many rejected events a reply describes; all are counted. */
export const REPLY_ERRORS_MAX = 20
/** Length of an `Idempotency-Key` header value. */
export const IDEMPOTENCY_KEY_BYTES_MAX = 255
/** How long an `Idempotency-Key` is remembered. */
export const IDEMPOTENCY_TTL_MS = 24 * 3_600_000
/** A management (REST) request body. */
export const REST_BODY_BYTES_MAX = 1 * MIB
/** How many bytes of a refused body are read and thrown away so that the client sees the reply. */
export const LINGER_BYTES_MAX = 16 * MIB
/** How long a refused body is read and thrown away. */
export const LINGER_MS_MAX = 5_000
/** A body that makes no progress for this long is aborted. */
export const BODY_IDLE_MS_MAX = 30_000

// --- Batches and queues -----------------------------------------------------------------------

/**
 * A batch is handed to the pool when it holds this much; larger segments compress better. Only a
 * single line or element that is longer still makes it larger, up to a whole body.
 */
export const BATCH_BYTES_TARGET = 768 * KIB
/** Requests up to this size are gathered into shared batches, per stream. */
export const SMALL_BODY_BYTES_MAX = 64 * KIB
/** Requests in one shared batch. */
export const BATCH_PARTS_MAX = 4_096
/** Bytes accepted and not yet acknowledged; past it whole requests are refused (`overloaded`). */
export const IN_FLIGHT_BYTES_MAX = 32 * MIB
/** Requests accepted and not yet acknowledged. */
export const IN_FLIGHT_REQUESTS_MAX = 16_384
/** Batches that wait for a worker, beyond those being worked on. */
export const POOL_QUEUE_BATCHES_MAX = 1_024
/** How long a worker may take for one batch before it is taken for hung. */
export const POOL_TASK_MS_MAX = 30_000

// --- Workers ----------------------------------------------------------------------------------

/**
 * Events' JSON made of one OTLP request: a resource stands once in it, but in each of its events.
 * A request's estimate is held against it while it arrives, a batch's events when they are made.
 */
export const OTLP_GENERATED_BYTES_MAX = 32 * MIB
/** The same by bytes of one OTLP JSON request, so that those sharing a batch stay within it. */
export const OTLP_GENERATED_PER_BYTE_MAX = 40
/** A worker's buffer of generated events that is larger is given up after its batch. */
export const EVENT_BUFFER_KEEP_BYTES = 8 * MIB

/** Distinct paths of one block that reach the projection; the raw event keeps all. */
export const BLOCK_PATHS_MAX = 1_024
/** Events of one segment and block; a batch of tiny events becomes several segments. */
export const SEGMENT_EVENTS_MAX = 8_192
/** Rows times paths of one JSON column; with more rows, fewer paths reach the projection. */
export const BLOCK_CELLS_MAX = 16 * MIB
/** Room for the items of a bulk reply that a worker keeps between parts. */
export const BULK_ITEM_BYTES_KEPT = 1 * MIB
/** Cells that any JSON column may have, and how many more for each byte of its rows' text. */
export const BLOCK_CELLS_MIN = 64 * KIB
export const BLOCK_CELLS_PER_BYTE = 8
/** Arrays of objects keep typed columns of their own down to this nesting; deeper is text. */
export const NESTED_COLUMNS_DEPTH_MAX = 3
/** Key nodes a worker's path trie may hold before it starts afresh (between batches). */
export const TRIE_NODES_MAX = 65_536
/** Shapes a worker remembers as already described. */
export const SHAPES_KNOWN_MAX = 16_384
/** Transform settings that a worker keeps compiled; streams with the same ones share them. */
export const TRANSFORM_PLANS_MAX = 64
/** A buffer of rewritten events that grew past this is not kept for the batches that follow. */
export const REWRITE_BUFFER_KEEP_BYTES = 8 * MIB
/** Bytes of a user agent string that are parsed; what comes after is not looked at. */
export const USER_AGENT_BYTES_MAX = 500
/** User agent strings of one event that are parsed; each may add an object to it. */
export const USER_AGENTS_PER_EVENT_MAX = 32
/** User agent strings whose parsed form a worker remembers. */
export const USER_AGENT_CACHE_MAX = 8_192
/** Shapes that one batch's schema delta describes. */
export const DELTA_SHAPES_MAX = 256

// --- Commit -----------------------------------------------------------------------------------

/** Compressed bytes waiting for a commit. */
export const COMMIT_QUEUE_BYTES_MAX = 64 * MIB
/** Compressed bytes of one COPY transaction. */
export const COMMIT_GROUP_BYTES_MAX = 16 * MIB
/** How often a commit that provably stored nothing is tried again before its clients hear 503. */
export const COMMIT_TRIES_MAX = 3
/**
 * How long an unknown COMMIT outcome is looked up before its connections are dropped unanswered.
 */
export const COMMIT_RESOLVE_MS_MAX = 60_000

// --- Materialize ------------------------------------------------------------------------------

/** Native blocks kept in memory; beyond it segments are replayed from the raw store later. */
export const MATERIALIZE_BUFFER_BYTES_MAX = 96 * MIB
/** Rows of one stream that trigger an insert. */
export const MATERIALIZE_INSERT_ROWS = 100_000
/** Bytes of one stream that trigger an insert. */
export const MATERIALIZE_INSERT_BYTES = 40 * MIB
/** Age of the oldest waiting block that triggers an insert. */
export const MATERIALIZE_DELAY_MS_MAX = 2_000
/** Segments that one replay step reads from the raw store. */
export const REPLAY_SEGMENTS_MAX = 64

// --- Management -------------------------------------------------------------------------------

export const NAME_CHARS_MAX = 200
export const REDACT_FIELDS_MAX = 256
export const REDACT_FIELD_CHARS_MAX = 512
export const KEYS_PER_STREAM_MAX = 1_000
export const EVENTS_PAGE_DEFAULT = 100
export const EVENTS_PAGE_MAX = 1_000
/** Bytes of event JSON in one page of the event list; the page ends early past it. */
export const EVENTS_PAGE_BYTES_MAX = 16 * MIB
export const QUERY_GROUPS_MAX = 1_000
export const QUERY_MS_MAX = 30_000
/** Credentials kept in memory. */
export const CREDENTIAL_CACHE_MAX = 65_536
/**
 * How often each node looks whether the control plane changed; bounds how late a revocation acts.
 */
export const CONTROL_POLL_MS = 400

// --- Nodes ------------------------------------------------------------------------------------

/** How long a node number stays with a process that does not renew it. */
export const NODE_LEASE_MS = 15_000
export const NODE_LEASE_RENEW_MS = 5_000
/** A node whose lease ran out this long ago is gone; the next new one takes its number over. */
export const NODE_DEAD_MS = 120_000

assert(EVENT_BYTES_MAX < BODY_BYTES_MAX, 'an event fits a body')
assert(SMALL_BODY_BYTES_MAX <= BATCH_BYTES_TARGET, 'a small body fits a batch')
assert(BATCH_BYTES_TARGET < EVENT_BYTES_MAX, 'only an event too large makes a part larger')
assert(
  BATCH_BYTES_TARGET * OTLP_GENERATED_PER_BYTE_MAX <= OTLP_GENERATED_BYTES_MAX,
  'a shared batch of OTLP requests within their bounds is within its own',
)
assert(IN_FLIGHT_BYTES_MAX >= 2 * BODY_BYTES_MAX, 'two of the largest bodies fit in flight')
assert(
  (SMALL_BODY_BYTES_MAX / 4) * BULK_ITEM_BYTES_MAX + SMALL_BODY_BYTES_MAX <= BULK_REPLY_BYTES_MAX,
  'the reply to a small body, which shares its commit with others, is never too large',
)
assert(BULK_REPLY_BYTES_MAX < IN_FLIGHT_BYTES_MAX, 'the largest bulk reply fits in flight')
assert(SEGMENT_EVENTS_MAX * BLOCK_PATHS_MAX <= BLOCK_CELLS_MAX, 'a full block has all its paths')
assert(COMMIT_GROUP_BYTES_MAX <= COMMIT_QUEUE_BYTES_MAX, 'a group fits the queue')
assert(MATERIALIZE_INSERT_BYTES * 2 <= MATERIALIZE_BUFFER_BYTES_MAX, 'one insert while one fills')
assert(EVENTS_PAGE_DEFAULT <= EVENTS_PAGE_MAX, 'the default page is allowed')
assert(CONTROL_POLL_MS <= 500, 'a revocation acts within a second')
assert(NODE_LEASE_RENEW_MS * 3 <= NODE_LEASE_MS, 'a lease survives two failed renewals')
