/**
 * Every bound of the service, in one place. Relations between them are asserted at load, each
 * has a test that hits it, and each that a client can meet is named in the error it causes.
 */
import assert from 'node:assert/strict'

// --- The query language ------------------------------------------------------------------------

// They lie with the language because browsers run it, which have no `node:assert`.
export {
  FIELD_PATH_BYTES_MAX,
  NESTED_COLUMNS_DEPTH_MAX,
  QUERY_CLAUSES_MAX,
  QUERY_LEVELS_MAX,
  QUERY_REGEX_BYTES_MAX,
  QUERY_TEXT_BYTES_MAX,
  QUERY_WILDCARDS_MAX,
} from './language/bounds.ts'

/** Fields that `*` or `http.*` may stand for. */
export const QUERY_PATHS_MAX = 64
/**
 * Conditions on columns that one query may become over all tables that it reads: a field has up to
 * ten columns, a word stands for one on each text field. So many take the engine 2 to 3 s before it
 * reads a row.
 */
export const QUERY_CONDITIONS_MAX = 2_500
/** How long what is known of a stream's fields serves queries before it is read again. */
export const CATALOG_CACHE_MS = 1_000
/** Fields of streams that are remembered so; past it the longest unread are forgotten. */
export const CATALOG_CACHE_FIELDS_MAX = 100_000
/** Shapes of which is remembered whether their events have text; past it as with fields. */
export const TEXTLESS_SHAPES_KEPT_MAX = 200_000
/** Tables of streams of their own that one query reads. */
export const QUERY_TABLES_MAX = 50

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
/** The reason in an error's item. */
export const BULK_REASON_BYTES_MAX = 96
/**
 * Items of one bulk reply; a request that makes more is refused. They can be many times the body,
 * in which four bytes are enough for an action and its document (both malformed). A usual item has
 * 105 bytes.
 */
export const BULK_REPLY_BYTES_MAX = 24 * MIB
/** How many rejected events a reply describes; all are counted. */
export const REPLY_ERRORS_MAX = 20
/** Length of an `Idempotency-Key` header value. */
export const IDEMPOTENCY_KEY_BYTES_MAX = 255
/** How long an `Idempotency-Key` is remembered. */
export const IDEMPOTENCY_TTL_MS = 24 * 3_600_000
/** An answer that is kept under one; a request with a key whose answer is larger is refused. */
export const IDEMPOTENCY_ANSWER_BYTES_MAX = 1 * MIB
/** A key's row beside its answer, for the bound below. */
export const IDEMPOTENCY_ROW_BYTES = 256
/** What is kept under the keys of one stream; past it requests with new keys are refused. */
export const IDEMPOTENCY_STREAM_BYTES_MAX = 4096 * MIB
/** Descriptors that connections are not to take, or a third of what the limit leaves. */
export const DESCRIPTORS_RESERVED_MAX = 128
/** How often it is looked whether they are used up; and then, whether there is room again. */
export const DESCRIPTORS_CHECK_MS = 100
export const DESCRIPTORS_ROOM_MS = 1_000
/** When another process has taken the port meanwhile: how long until it is tried again, at most. */
export const LISTEN_RETRY_MS_MAX = 30_000
/** How often that is logged, at most. */
export const DESCRIPTORS_LOG_MS = 60_000
/** A request's head. The older engine takes 4 KiB of one that comes in pieces (docs/operations). */
export const HEAD_BYTES_MAX = 16 * KIB
/** A reply's body up to this size is left to the socket; a larger one is sent as it is read. */
export const REPLY_DIRECT_BYTES_MAX = 16 * KIB
/** Larger replies that wait for their readers, but for those of ingest, which are in flight. */
export const REPLY_BYTES_MAX = 64 * MIB
/** A management (REST) request body. */
export const REST_BODY_BYTES_MAX = 1 * MIB
/** Bodies of such requests in memory, of all together… */
export const REST_BODIES_BYTES_MAX = 16 * MIB
/** …and of those whose token is not known to be valid yet: what came with their heads. */
export const REST_STRANGERS_BYTES_MAX = 2 * MIB
/** How long such a body may take, else it could hold its room for ever. */
export const REST_BODY_MS_MAX = 60_000
/** How long the one-time link of the first start works… */
export const SIGN_IN_MS_MAX = 15 * 60_000
/** …and how long the token that it gives. */
export const SIGNED_IN_MS = 12 * 3_600_000
/** How many bytes of a refused body are read and thrown away so that the client sees the reply. */
export const LINGER_BYTES_MAX = 16 * MIB
/** How long a refused body is read and thrown away. */
export const LINGER_MS_MAX = 5_000
/** A body that makes no progress for this long is aborted. */
export const BODY_IDLE_MS_MAX = 30_000

/** A stream that was quiet may use so long's worth of its budgets at once. */
export const BUDGET_BURST_MS = 5_000
/** Streams whose budgets are in memory; past it those in no debt start anew. */
export const BUDGET_STREAMS_MAX = 65_536

// --- Batches and queues -----------------------------------------------------------------------

/**
 * A batch is handed to the pool when it holds this much; larger segments compress better. Only a
 * single line or element that is longer still makes it larger, up to a whole body.
 */
export const BATCH_BYTES_TARGET = 768 * KIB
/** Requests up to this size, decompressed, are gathered into shared batches. */
export const SMALL_BODY_BYTES_MAX = 64 * KIB
/** The same of compressed ones, which are decompressed on the main thread then. */
export const SMALL_COMPRESSED_BYTES_MAX = 16 * KIB
/** Requests in one shared batch. */
export const BATCH_PARTS_MAX = 4_096
/**
 * What waits of one stream is mixed with that of others up to this size; beyond it, a segment of
 * its own costs little an event.
 */
export const MIX_STREAM_BYTES_MAX = 16 * KIB
/** Streams that have projection tables of their own at a time; others share one. */
export const PROMOTED_STREAMS_MAX = 8
/** A stream that comes later is promoted when it sends this share of all bytes in a period… */
export const PROMOTE_SHARE_MIN = 1 / 32
/** …and this many, so that a fleet at rest has no busy streams… */
export const PROMOTE_BYTES_MIN = 256 * KIB
/** …so long. */
export const PROMOTE_PERIOD_MS = 15_000
/** A stream that has not sent so much for this long may lose its place to one that does. */
export const PROMOTED_IDLE_MS = 86_400_000
/** How exactly the last time is known: it is written no more often. */
export const PROMOTED_BUSY_NOTED_MS = 3_600_000
/** Buffers that were not used for this long are given up. */
export const BUFFERS_IDLE_MS = 15_000
/** Bytes accepted and not yet acknowledged; past it whole requests are refused (`overloaded`). */
export const IN_FLIGHT_BYTES_MAX = 32 * MIB
/**
 * Native blocks that one request may hold; past it they are dropped and made again from the
 * committed segments. A body of tiny events makes many times its size of them.
 */
export const REQUEST_BLOCK_BYTES_MAX = 16 * MIB
/**
 * What a body is given room for ahead of what has come of it, beside as much again as has come: a
 * declared length alone must not take the room of others.
 */
export const BODY_AHEAD_BYTES = 16 * KIB
/**
 * What an open decompressor counts as in flight, as measured: gzip and deflate with their window,
 * brotli and zstd beside theirs, which counts as what was put out.
 */
export const INFLATER_BYTES = 160 * KIB
export const WIDE_INFLATER_BYTES = 256 * KIB
/** When others find no room, a body is cut that brought fewer bytes a second than this… */
export const SLOW_BODY_BYTES_PER_SECOND = 64 * KIB
/** …for so long. A burst counts for as long at most. */
export const SLOW_BODY_MS = 5_000
/** Requests accepted and not yet acknowledged. */
export const IN_FLIGHT_REQUESTS_MAX = 16_384
/**
 * Batches of events that wait for a worker or are worked on, of small requests and of others each.
 * A stream that has none among them finds room until there are twice as many.
 */
export const POOL_QUEUE_BATCHES_MAX = 1_024
/** Pages of the event list and previews of redaction that wait for a worker. */
export const POOL_QUEUE_READS_MAX = 256
/** Tasks of redaction reviews that wait for a worker; a review has `REVIEW_TASKS_MAX` at a time. */
export const POOL_QUEUE_REVIEWS_MAX = 16
/** Tasks that match what was just committed with live tails; there is one at a time. */
export const POOL_QUEUE_TAILS_MAX = 4
/** Segments to replay and rows to merge that wait for a worker. */
export const POOL_QUEUE_REBUILDS_MAX = 256
/** How long a worker may take for one batch before it is taken for hung. */
export const POOL_TASK_MS_MAX = 30_000

// --- Queries over stored segments (`workers/match.ts`) -----------------------------------------

/** Matches of one query in one task. */
export const MATCH_EVENTS_MAX = 10_000
/** Records that one task renders; past it, its queries end. */
export const MATCH_RECORDS_BYTES_MAX = 16 * MIB
/** Steps of about a nanosecond that a task's queries may cost; each a share, a 32nd at least. */
export const MATCH_COST_MAX = 500_000_000
/** Queries that a worker keeps ready for the next task. */
export const MATCH_QUERIES_KEPT_MAX = 256
/** Tables of regular expressions that a worker keeps, in bytes as their library counts them. */
export const MATCH_REGEX_BYTES_MAX = 32 * MIB
/** Characters times instructions of a regular expression past which it does not search a text. */
export const MATCH_REGEX_TEXT_MAX = 64 * 1024 * 1024

// --- Workers ----------------------------------------------------------------------------------

/**
 * Events' JSON made of one OTLP request: a resource stands once in it, but in each of its events.
 * A request's estimate is held against it while it arrives, a batch's events when they are made.
 */
export const OTLP_GENERATED_BYTES_MAX = 32 * MIB
/** The same by bytes of one OTLP JSON request, so that those sharing a batch stay within it. */
export const OTLP_GENERATED_PER_BYTE_MAX = 40
/** A worker's buffer for a batch's events that is larger is given up after its batch. */
export const EVENT_BUFFER_KEEP_BYTES = 16 * MIB

/**
 * In the table that small streams share, a row carries its own paths: bytes of them for each byte
 * of the row's text, and what any row may have. Values beyond reach the raw store only.
 */
export const ROW_PATH_BYTES_PER_BYTE = 16
export const ROW_PATH_BYTES_MIN = 4 * KIB
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
/**
 * Memory of a worker for batches, their tapes and what is encoded from them. Beyond it a batch
 * fails. The worst that the other limits let through, 32 MiB of JSON that is all one-digit numbers
 * in arrays, takes half of it; the worker keeps that for later batches.
 */
export const ARENA_BYTES_MAX = 2048 * MIB
/** Key nodes a worker's path trie may hold before it starts afresh (between batches). */
export const TRIE_NODES_MAX = 32_768
/** Entries of an event that may have a layout, and states that a worker keeps of all layouts. */
export const LAYOUT_ENTRIES_MAX = 256
export const LAYOUT_STATES_MAX = 32_768
/** Shapes a worker remembers as already described. */
export const SHAPES_KNOWN_MAX = 16_384
/** Transform settings that a worker keeps compiled; streams with the same ones share them. */
export const TRANSFORM_PLANS_MAX = 64
/** Bytes of a user agent string that are parsed; what comes after is not looked at. */
export const USER_AGENT_BYTES_MAX = 500
/** User agent strings of one event that are parsed; each may add an object to it. */
export const USER_AGENTS_PER_EVENT_MAX = 32
/** User agent strings whose parsed form a worker remembers. */
export const USER_AGENT_CACHE_MAX = 8_192
/**
 * Parsing of strings that are not remembered, of a stream in one batch, and what it gets back each
 * second; strings beyond it stay without their sibling. Up to 128 bytes cost 1, more as their
 * length squared (500 bytes: 16). A full batch of lines that all have another usual string fits; of
 * the slowest strings known, a second's worth is a tenth of a second.
 */
export const USER_AGENT_COST_MAX = 4_096
export const USER_AGENT_COST_PER_SECOND = 1_024
/** Streams for which a worker remembers it; past it those longest unused start anew. */
export const USER_AGENT_BUDGET_STREAMS_MAX = 4_096
/** Shapes that one batch's schema delta describes. */
export const DELTA_SHAPES_MAX = 256
/** After this long a worker describes a shape again: fields were seen, values have changed. */
export const SHAPE_DESCRIBE_MS = 60_000
/** Characters of one shape's description; leaves past it are left out. */
export const SHAPE_LEAVES_CHARS_MAX = 256 * KIB
/** Characters of descriptions in one batch's delta; what does not fit is described later. */
export const DELTA_LEAVES_CHARS_MAX = 128 * KIB
/** Characters of descriptions that a worker makes in a second: at most 5 % of its time. */
export const DESCRIBE_CHARS_PER_SECOND = 256 * KIB
/** Distinct samples of a field. */
export const FIELD_SAMPLES_MAX = 5
/** A sample's value, in bytes of UTF-8; longer strings are cut. */
export const SAMPLE_BYTES_MAX = 256

// --- Commit -----------------------------------------------------------------------------------

/** Compressed bytes waiting for a commit. */
export const COMMIT_QUEUE_BYTES_MAX = 64 * MIB
/** Compressed bytes of one COPY transaction. */
export const COMMIT_GROUP_BYTES_MAX = 16 * MIB
/** A group smaller than this waits so long for what the busy pool is about to hand over. */
export const COMMIT_GATHER_BYTES = 128 * KIB
export const COMMIT_GATHER_MS_MAX = 25
/** How often a commit that provably stored nothing is tried again before its clients hear 503. */
export const COMMIT_TRIES_MAX = 3
/**
 * How long an unknown COMMIT outcome is looked up before its connections are dropped unanswered.
 */
export const COMMIT_RESOLVE_MS_MAX = 60_000

// --- Observe ----------------------------------------------------------------------------------

/** How often what was learned is written. */
export const OBSERVE_FLUSH_MS = 1_000
/** The same when writing takes long, as with many streams: see `OBSERVE_FLUSH_SHARE`. */
export const OBSERVE_FLUSH_MS_MAX = 5_000
/** Share of the time in which the catalog is written, at most, while the bound above allows it. */
export const OBSERVE_FLUSH_SHARE = 0.1
/** What is known of streams in memory; past it the longest unused ones are forgotten. */
export const OBSERVE_CACHE_BYTES_MAX = 32 * MIB
/** Descriptions waiting for their stream to be loaded; past it they are learned from the store. */
export const OBSERVE_WAITING_BYTES_MAX = 8 * MIB
/** Streams of one write. */
export const OBSERVE_WRITE_STREAMS_MAX = 64
/** A field that is known is not written again sooner, for its being seen once more. */
export const FIELD_REFRESH_MS = 30_000
/** The same while it has fewer than `FIELD_SAMPLES_MAX` samples. */
export const FIELD_SAMPLE_MS = 5_000
/** Shapes that came without a description and wait to be looked up in the raw store. */
export const OBSERVE_LOOKUPS_MAX = 1_024
/** Bytes of a shape's paths that are kept with it. */
export const SHAPE_PATHS_BYTES_MAX = 64 * KIB
/** A longer name is no service's: the next field is asked. */
export const SERVICE_BYTES_MAX = 256
/** The largest hard cap that a stream may be given. */
export const SCHEMA_CAP_MAX = 10_000

// --- Materialize ------------------------------------------------------------------------------

/** Native blocks kept in memory; beyond it segments are replayed from the raw store later. */
export const MATERIALIZE_BUFFER_BYTES_MAX = 96 * MIB
/** Rows for one table that trigger an insert. */
export const MATERIALIZE_INSERT_ROWS = 100_000
/** Bytes for one table that trigger an insert. */
export const MATERIALIZE_INSERT_BYTES = 40 * MIB
/** Bytes of one stream's waiting blocks from which on they are spooled, where that is possible. */
export const SPOOL_BYTES_MIN = 4 * MIB
/** Spooled blocks of all streams; beyond it segments are replayed as well. */
export const SPOOL_BYTES_MAX = 320 * MIB
/** Rows of one stream that trigger an insert when they are spooled. */
export const SPOOL_INSERT_ROWS = 200_000
/**
 * Rows times paths of one stream that trigger an insert when they are spooled: in the engine's
 * memory a path takes bytes of each row, with a value there or without. 25 million were too many.
 */
export const SPOOL_INSERT_CELLS_MAX = 16_000_000
/** Bytes of one stream that trigger an insert when they are spooled. */
export const SPOOL_INSERT_BYTES = 100 * MIB
/** Age of the oldest waiting block that triggers an insert. */
export const MATERIALIZE_DELAY_MS_MAX = 2_000
/** Inserts of different streams at a time; the embedded engine has four places for writes. */
export const MATERIALIZE_INSERTS_MAX = 3
/** Bytes of inserts that run at a time; a larger one runs alone. */
export const MATERIALIZE_SMALL_BYTES_MAX = 4 * MIB
/** Segments that catch-up reads from the raw store at a time. */
export const REPLAY_SEGMENTS_MAX = 64
/** How often it reads before it is the next stream's turn. */
export const REPLAY_READS_MAX = 8
/** How long it reads on for one stream while others are behind, too. */
export const REPLAY_TURN_MS = 1_000
/** Segments that it has rebuilt in the pool at a time: few, or so many as have few events. */
export const REPLAY_AHEAD_SEGMENTS = 4
export const REPLAY_AHEAD_SEGMENTS_MAX = 32
export const REPLAY_AHEAD_EVENTS = 16_384
/** Tasks in which they go, and events of one that has several. */
export const REPLAY_TASKS_MAX = 3
export const REPLAY_TASK_EVENTS_MAX = 4_096
/** Inserts that it makes at a time; live, others make some meanwhile. */
export const REPLAY_INSERTS_MAX = 2
/** Bytes of one of them; a third one is being filled meanwhile. */
export const REPLAY_INSERT_BYTES = 24 * MIB
/** Streams that are caught up each by itself; when there are more, the node is. */
export const LAGGING_STREAMS_MAX = 64
/** How often a segment's own data may fail before it is set aside, so that others go on. */
export const SEGMENT_TRIES_MAX = 5
/** How often a node looks whether it is asked to try segments again that were set aside. */
export const SET_ASIDE_POLL_MS = 2_000
/** Segments set aside that are tried again at a time. */
export const SET_ASIDE_RETRY_SEGMENTS_MAX = 16

// --- Retention --------------------------------------------------------------------------------

/** How often the node that enforces retention looks whether a stream is over its cap. */
export const RETAIN_ROUND_MS = 5_000
/** How often it looks for segments that are too old. */
export const RETAIN_AGE_SCAN_MS = 10_000
/** Rows that one DELETE removes; fewer when they are large, by `RETAIN_STEP_MS_TARGET`. */
export const RETAIN_STEP_ROWS_MAX = 1_024
/** How long one DELETE should take. As long again nothing is done, so that ingest gets its turn. */
export const RETAIN_STEP_MS_TARGET = 40
/** How long rows of one stream are removed before the next one gets its turn. */
export const RETAIN_TURN_MS = 2_000
/** How long one statement of retention or compaction may take. */
export const RETAIN_STATEMENT_MS_MAX = 30_000
/** Rows that are looked at, at a time, to find out how much must go. */
export const RETAIN_WALK_ROWS_MAX = 1_000
/**
 * A cap removes nothing younger: a transaction that is under way may hold ids as old as this, and
 * its events must not vanish just when they are acknowledged.
 */
export const RETAIN_YOUNGEST_MS = 10_000
/** How often the projection's sizes are read. */
export const RETAIN_PROJECTION_MS = 10_000
/** How often tables are compared with the form that they should have. */
export const RETAIN_TABLES_MS = 10_000
/** Tables that are compared at a time. */
export const RETAIN_TABLES_MAX = 64
/** How long a table whose index could not be made is left alone. */
export const RETAIN_REINDEX_MS = 3_600_000
/** How often rows may be deleted out of one projection table. */
export const RETAIN_TRIM_MS = 300_000
/** Share of a projection's partition that must be removed before the rest is written anew. */
export const RETAIN_TRIM_SHARE = 0.25
/** Rows from which on a part of a stream's own table has files for each path: a wide part. */
export const WIDE_ROWS_MIN = 100_000
/**
 * Bytes from which on an insert of fewer rows makes its indexes at once, too: few rows of large
 * events become a part that is too large to be merged, so no merge would make them.
 */
export const INDEXED_INSERT_BYTES_MIN = 40 * MIB
/** Fields up to which that is so: a wide part has 8 to 10 files for each. */
export const WIDE_PATHS_MAX = 128
/** Seconds after which parts of a table of wide parts are merged however few they are. */
export const MERGE_AGE_S = 60
/** Parts that a merge takes at most: each takes memory. */
export const MERGE_PARTS_AT_ONCE_MAX = 30
/** Text fields of a stream that have an index. */
export const TEXT_INDEXES_MAX = 11
/** Fields of identifiers that have one. */
export const ID_INDEXES_MAX = 4
/**
 * Up to how many bytes ClickHouse merges parts of a stream's table. Two of the largest inserts of
 * plain text, which is 90 B a row, are together above it, so that they stay as they are.
 */
export const MERGE_BYTES_MAX = 24 * MIB
/** Bytes on disk from which on a part without indexes is not left to merging. */
export const BARE_PART_BYTES_MIN = MERGE_BYTES_MAX / 2
/** Share of a day's rows that are in such parts from which on their indexes are made. */
export const BARE_ROWS_SHARE = 0.25
/** The same where its table is crowded. */
export const MERGE_CROWDED_BYTES_MAX = 512 * MIB
/** A table with so many parts in one day is crowded: they are merged further. */
export const MERGE_PARTS_CROWDED = 500
/** When no day of it has as many any more, large parts are left alone again. */
export const MERGE_PARTS_RELAXED = 100
/** A table with so many parts, of all days, is crowded too: ClickHouse refuses 100,000. */
export const MERGE_TABLE_PARTS_CROWDED = 3_000
/** A crowded table's bound falls again below this. */
export const MERGE_TABLE_PARTS_RELAXED = 1_500
/** How long after its deletion a stream may still get events, from requests under way. */
export const RETAIN_PURGE_GRACE_MS = 600_000
/** How far over its cap, by this factor, a stream refuses ingest. */
export const STORAGE_CAP_SLACK = 1.1
/** How often a node looks which streams are over their cap. */
export const STORAGE_POLL_MS = 1_000

// --- Compaction -------------------------------------------------------------------------------

/** A merged row holds segments of one such stretch of time only, counted from 1970. */
export const COMPACT_WINDOW_MS = 900_000
/** How long after its end a stretch is compacted: a commit may still bring segments into it. */
export const COMPACT_AGE_MS = 600_000
/** Rows at least this old no longer wait for a checkpoint: compaction passes them by. */
export const COMPACT_WAIT_MS_MAX = 86_400_000
/** Segments of one merged row. */
export const COMPACT_MEMBERS_MAX = 1_024
/** Bytes of events of one merged row, as sent. */
export const COMPACT_BYTES_MAX = 768 * KIB
/** Rows with more bytes or more events than this stay as they are. */
export const COMPACT_SMALL_BYTES_MAX = 96 * KIB
export const COMPACT_SMALL_EVENTS_MAX = 1_024
/** Rows that are looked at, at a time. */
export const COMPACT_WALK_ROWS_MAX = 4_096
/** Streams that one round of compaction takes up. */
export const COMPACT_STREAMS_MAX = 256
/** Bytes of events as JSON of the mixed rows that are split together; one row may have more. */
export const SPLIT_BYTES_MAX = 32 * MIB
/** Mixed rows that are split together, and their segments. */
export const SPLIT_ROWS_MAX = 1_024
export const SPLIT_SEGMENTS_MAX = 32_768
/** Compressed bytes that one statement puts into the raw store; one row may have more. */
export const SPLIT_STATEMENT_BYTES_MAX = 8 * MIB
/** Rows of the streams that are looked at, so that what is split is not merged across them. */
export const SPLIT_BETWEEN_ROWS_MAX = 16_384
/** Mixed rows that cannot be split and are not tried again; past it the oldest of them are. */
export const SPLIT_DAMAGED_ROWS_MAX = 1_024

// --- Management -------------------------------------------------------------------------------

export const NAME_CHARS_MAX = 200
export const REDACT_FIELDS_MAX = 256
export const REDACT_FIELD_CHARS_MAX = 512
/** Of a stream: a bare word is looked for in each. */
export const TEXT_FIELDS_MAX = 32
export const KEYS_PER_STREAM_MAX = 1_000
export const VIEWS_PER_STREAM_MAX = 1_000
/** Of a view: all but its name. */
export const VIEW_BYTES_MAX = 64 * KIB
export const VIEW_COLUMNS_MAX = 64
export const VIEW_TAGS_MAX = 32
export const EVENTS_PAGE_DEFAULT = 100
export const EVENTS_PAGE_MAX = 1_000
/** Characters of JSON in a page of streams, tokens, views, fields or shapes; then it ends early. */
export const LIST_PAGE_BYTES_MAX = 256 * KIB
/** Records of such a page that are read and rendered at a time. */
export const LIST_READ_RECORDS = 100
/** Characters of an answer that the main thread renders at a time. */
export const MAIN_SLICE_CHARS = 64 * KIB
/** Rows of a query's result that it takes over at a time. */
export const MAIN_SLICE_ROWS = 1_000
/** For how long it does nothing of the kind after a piece, at most. */
export const MAIN_REST_MS_MAX = 50
/** Bytes of event JSON in one page of the event list; the page ends early past it. */
export const EVENTS_PAGE_BYTES_MAX = 16 * MIB
export const FIELDS_PAGE_DEFAULT = 1_000
export const FIELDS_PAGE_MAX = 10_000
export const SHAPES_PAGE_DEFAULT = 100
export const SHAPES_PAGE_MAX = 1_000
/** Most frequent values of a field in its statistics. */
export const STATS_TOP_DEFAULT = 10
export const STATS_TOP_MAX = 100
/** Events that one redaction review looks at, and how long it may take. It goes on by a cursor. */
export const REVIEW_EVENTS_MAX = 1_000_000
export const REVIEW_MS_MAX = 10_000
/** Events that it lists at a time. */
export const REVIEW_PAGE_EVENTS = 16_384
/** Bytes of events of one of its tasks; a single segment may have more. */
export const REVIEW_TASK_BYTES = 1 * MIB
/** Its tasks at a time: they keep a worker busy while the next page is read. */
export const REVIEW_TASKS_MAX = 4
/** While ingest is busy it has one at a time, and rests for so many times as long as that took… */
export const REVIEW_REST_FACTOR = 3
/** …but not for longer than this. */
export const REVIEW_REST_MS_MAX = 200
/** Paths, by reason, that an answer lists: those with the most values… */
export const REVIEW_PATHS_MAX = 500
/** …among so many; values at others are counted. */
export const REVIEW_PATHS_HELD_MAX = 4_096
/** Masked samples of a path, and how many of its values are looked at for them in a task. */
export const REVIEW_SAMPLES_MAX = 3
export const REVIEW_SAMPLED_MAX = 64
/** Ids of events that are named for a path. */
export const REVIEW_EVENT_IDS_MAX = 5
/** Damaged segments that an answer names. */
export const REVIEW_DAMAGED_MAX = 100
export const QUERY_GROUPS_MAX = 1_000
/** The body of a request to read. */
export const READ_BODY_BYTES_MAX = 256 * 1024
/** What one query may ask for: aggregates, fields to group by, buckets of time… */
export const QUERY_AGGREGATES_MAX = 20
export const QUERY_GROUP_KEYS_MAX = 6
export const QUERY_BUCKETS_MAX = 1_000
/** …and values in its answer, when there is one for each group and bucket. */
export const QUERY_CELLS_MAX = 100_000
/** Fields of one request for facets, values of each, and events that they are counted over. */
export const FACET_FIELDS_MAX = 12
export const FACET_VALUES_DEFAULT = 10
export const FACET_VALUES_MAX = 100
export const FACET_EVENTS_MAX = 100_000
/** Buckets of `auto`. */
export const AUTO_BUCKETS_MAX = 120
/** Groups that a query makes on its way to the largest; and the bytes of its answer. */
export const QUERY_DISTINCT_MAX = 1_000_000
export const QUERY_RESULT_BYTES_MAX = 16 * MIB
/** Streams of one request over several. */
export const READ_STREAMS_MAX = 1_000
export const QUERY_MS_MAX = 30_000
/** A read that failed so often within so long fails again and again: `/readyz` tells. */
export const READS_FAILED_MIN = 3
export const READS_FAILED_MS = 300_000
/** How much longer ClickHouse may take to say so: then it is not waited for any more. */
export const QUERY_GRACE_MS = 1_000
/** The same of all that a read waits for; then it is answered whatever hangs. */
export const READ_GRACE_MS = 1_500
/** Rows of the raw store that a search lists at a time, of those that the projection may lack. */
export const SEARCH_PENDING_ROWS = 512
/** Events of such segments that are evaluated at a time: at first, later, and in all. */
export const SEARCH_CHUNK_EVENTS = 16_384
export const SEARCH_CHUNK_EVENTS_MAX = 131_072
export const SEARCH_PENDING_EVENTS_MAX = 1_000_000
/** The first stretch that a search asks the projection for: about so much, of so long. */
export const SEARCH_WINDOW_ROWS = 32_768
export const SEARCH_WINDOW_BYTES = 64 * MIB
/** So many times as many, where the query asks for an id. */
export const SEARCH_RARE_FACTOR = 1_024
export const SEARCH_WINDOW_MS_MIN = 100
/** Later ones grow so that each takes about so long, but by these factors at the least and most. */
export const SEARCH_WINDOW_TARGET_MS = 80
export const SEARCH_GROWTH_MIN = 2
export const SEARCH_GROWTH_MAX = 128
/** Paths that records of a search are limited to. */
export const SEARCH_FIELDS_MAX = 64
/** How long a search looks into blocks that wait before other work has its turn. */
export const PREFILTER_SLICE_MS = 1
/** Segments in a row that may all have what it looks for: it then reads the rest as they come. */
export const PREFILTER_VAIN_SEGMENTS = 16
/** Payloads of segments that are in memory at a time for one search. */
export const SEARCH_PAYLOADS_MAX = 16
/** Clauses of a query that are explained one by one. */
export const EXPLAIN_CLAUSES_MAX = 8
/** Proposals of a completion, and how long their values may take. */
export const COMPLETE_PROPOSALS_MAX = 20
export const COMPLETE_MS_MAX = 1_000
/** Exports at a time. */
export const EXPORTS_MAX = 8
/** Damaged segments that the last line of an export names; it counts the events of all. */
export const EXPORT_DAMAGED_MAX = 100
/** Events that an export reads at a time. */
export const EXPORT_CHUNK_EVENTS = 4_096
/** A request of an agent (MCP); how long a call may take; what its result is cut to. */
export const MCP_BODY_BYTES_MAX = 4 * MIB
export const MCP_CALL_MS_MAX = 60_000
export const MCP_RESULT_CHARS_MAX = 40_000
/** Where a string in a result is cut. */
export const MCP_STRING_CHARS_MAX = 500
/** Streams of one list, events of one search, cells of one aggregate. */
export const MCP_STREAMS_PAGE = 200
export const MCP_SEARCH_EVENTS_MAX = 200
export const MCP_CELLS_MAX = 1_000
/** Events that an agent may send at a time, and their bytes. */
export const MCP_INGEST_EVENTS_MAX = 100
export const MCP_INGEST_BYTES_MAX = 256 * 1024
/** How long a sample of a live tail may be taken. */
export const MCP_TAIL_SECONDS_MAX = 20
/** Credentials kept in memory. */
export const CREDENTIAL_CACHE_MAX = 65_536
/** Credentials that wait to be looked up; a request that waits is in flight, too. */
export const CREDENTIAL_LOOKUPS_MAX = 16_384
/** Credentials of one look-up query. */
export const CREDENTIAL_LOOKUP_BATCH_MAX = 512
/** How long a credential waits for its query. */
export const CREDENTIAL_LOOKUP_MS_MAX = 10_000
/**
 * Changes of the control plane that are remembered; a node that is further behind forgets all that
 * it cached.
 */
export const CONTROL_CHANGES_MAX = 4_096
/**
 * How often each node looks whether the control plane changed; bounds how late a revocation acts.
 */
export const CONTROL_POLL_MS = 400
/**
 * What was known of the control plane so long ago is not enough for a commit: it is asked first.
 */
export const CONTROL_STALE_MS_MAX = 5_000

// --- Lanes ------------------------------------------------------------------------------------

/** Queries and field statistics at a time, with a ClickHouse of your own and an embedded one. */
export const QUERIES_MAX = 16
export const QUERIES_EMBEDDED_MAX = 4
/**
 * From this share of the workers' time on, queries on an embedded one give way to events: so many
 * run at a time.
 */
export const INGEST_BUSY_SHARE = 0.1
export const QUERIES_BUSY_MAX = 1
/** From this share on, a read of an embedded engine has one thread. */
export const INGEST_FULL_SHARE = 0.5
/** Reads of the raw store and the catalog at a time: events, fields, shapes, usage, previews. */
export const LISTS_MAX = 4
/** Redaction reviews at a time: one that is slow does not hold up the only other one. */
export const REVIEWS_MAX = 2
/** Requests of management at a time: streams, keys, tokens. */
export const MANAGEMENT_MAX = 4
/** Requests that wait in one of these lanes for their turn… */
export const LANE_WAITING_MAX = 128
/** …and for how long. After it they are refused. */
export const LANE_WAIT_MS_MAX = 5_000
/**
 * Connections of a node to PostgreSQL. Two more are sessions of their own: one commits, one holds
 * the lock of retention.
 */
export const POSTGRES_READ_CONNECTIONS_MAX = 7
export const POSTGRES_WRITE_CONNECTIONS_MAX = 4
export const POSTGRES_CONTROL_CONNECTIONS_MAX = 8
/** Connections of a node to ClickHouse. */
export const CLICKHOUSE_READ_CONNECTIONS_MAX = 40
export const CLICKHOUSE_WRITE_CONNECTIONS_MAX = 6
export const CLICKHOUSE_CONTROL_CONNECTIONS_MAX = 4
/** Places of the embedded ClickHouse for statements of each kind. */
export const ENGINE_READS_MAX = 6
export const ENGINE_WRITES_MAX = 4
export const ENGINE_CONTROLS_MAX = 3
export const ENGINE_PLACES_MAX = ENGINE_READS_MAX + ENGINE_WRITES_MAX + ENGINE_CONTROLS_MAX

// --- Live tails --------------------------------------------------------------------------------

/** Live tails of a node, and of a token on it; how long one lasts. */
export const TAILS_MAX = 64
export const TAILS_PER_TOKEN_MAX = 8
export const TAIL_MS_MAX = 3_600_000
/** What waits for the reader of one; past either the oldest go and a gap stands for them. */
export const TAIL_QUEUE_EVENTS_MAX = 1_000
export const TAIL_QUEUE_BYTES_MAX = 1 * MIB
/** What is written to it at once, or a single event of more. */
export const TAIL_WRITE_BYTES = 64 * KIB
/** Events that it looks at for what it has missed, the newest; and at a time. */
export const TAIL_RESUME_EVENTS_MAX = 10_000
export const TAIL_RESUME_PAGE_EVENTS = 1_000
/** Segments that wait to be matched, of all tails, and for how long: then they are gaps. */
export const TAIL_WAITING_SEGMENTS_MAX = 4_096
export const TAIL_WAITING_BYTES_MAX = 16 * MIB
export const TAIL_BEHIND_MS_MAX = 1_000
/** Events that are matched at once, or a single segment of more. */
export const TAIL_MATCH_EVENTS_MAX = 10_000
/** Share of the processors' time that matching may take, but for bursts. */
export const TAIL_WORK_SHARE = 0.11
/**
 * What the queries of a stream's tails may cost while ingest has its events on the tape: steps of
 * about a nanosecond an event, a segment and a query that is new, and bytes of records. Past either
 * the segment is matched from its payload, after its commit.
 */
export const TAIL_SIEVE_EVENT_STEPS = 6_000
export const TAIL_SIEVE_SEGMENT_STEPS = 200_000
export const TAIL_SIEVE_QUERY_STEPS = 4_000_000
export const TAIL_SIEVE_BYTES_MAX = 256 * KIB
/** For so long that is not tried again then. */
export const TAIL_SIEVE_REST_MS = 1_000
/** Events a second that a reader may ask to see at most. */
export const TAIL_LIMIT_PER_S_MAX = 100_000
/** How often other nodes' commits are looked for, and how many rows of each at a time. */
export const TAIL_POLL_MS = 100
export const TAIL_POLL_ROWS_MAX = 1_000
/** After so long without an event a comment is sent, so that nobody takes the line for dead. */
export const TAIL_PING_MS = 15_000
/** How often it is looked whether tokens and streams still are. */
export const TAIL_RIGHTS_MS = 250

// --- Nodes ------------------------------------------------------------------------------------

/** How long a node number stays with a process that does not renew it. */
export const NODE_LEASE_MS = 15_000
export const NODE_LEASE_RENEW_MS = 5_000
/** A node whose lease ran out this long ago is gone; the next new one takes its number over. */
export const NODE_DEAD_MS = 120_000
/**
 * How far ahead of PostgreSQL's clock a node may give out receipt times. Clocks that are kept by
 * NTP differ by milliseconds; a machine without it may be off by some seconds.
 */
export const CLOCK_LEAD_MS_MAX = 60_000
/** Numbers of gone nodes whose remains one start takes care of, beside its own. */
export const NODES_LEFT_BEHIND_MAX = 8

assert(EVENT_BYTES_MAX < BODY_BYTES_MAX, 'an event fits a body')
assert(SMALL_BODY_BYTES_MAX <= BATCH_BYTES_TARGET, 'a small body fits a batch')
assert(MIX_STREAM_BYTES_MAX / 2 <= SEGMENT_EVENTS_MAX, 'a run fits a segment: two bytes an event')
assert(BATCH_BYTES_TARGET < EVENT_BYTES_MAX, 'only an event too large makes a part larger')
assert(
  BATCH_BYTES_TARGET * OTLP_GENERATED_PER_BYTE_MAX <= OTLP_GENERATED_BYTES_MAX,
  'a shared batch of OTLP requests within their bounds is within its own',
)
assert(REST_BODIES_BYTES_MAX >= 4 * REST_BODY_BYTES_MAX, 'some of the largest bodies fit')
assert(REST_STRANGERS_BYTES_MAX < REST_BODIES_BYTES_MAX, 'strangers take less than who is known')
assert(IN_FLIGHT_BYTES_MAX >= 2 * BODY_BYTES_MAX, 'two of the largest bodies fit in flight')
assert(REQUEST_BLOCK_BYTES_MAX * 2 <= IN_FLIGHT_BYTES_MAX, 'blocks leave room for others')
assert(REQUEST_BLOCK_BYTES_MAX <= MATERIALIZE_BUFFER_BYTES_MAX, 'what is kept can be used')
assert(SLOW_BODY_MS < BODY_IDLE_MS_MAX, 'a slow body is cut under pressure before an idle one ends')
assert(
  (SMALL_BODY_BYTES_MAX / 4) * BULK_ITEM_BYTES_MAX + SMALL_BODY_BYTES_MAX <= BULK_REPLY_BYTES_MAX,
  'the reply to a small body, which shares its commit with others, is never too large',
)
assert(
  IDEMPOTENCY_ANSWER_BYTES_MAX + IDEMPOTENCY_ROW_BYTES < IDEMPOTENCY_STREAM_BYTES_MAX / 1_000,
  'one answer takes little of what a stream may have kept',
)
assert(BULK_REPLY_BYTES_MAX < IN_FLIGHT_BYTES_MAX, 'the largest bulk reply fits in flight')
assert(SEGMENT_EVENTS_MAX * BLOCK_PATHS_MAX <= BLOCK_CELLS_MAX, 'a full block has all its paths')
assert(OBSERVE_FLUSH_MS <= OBSERVE_FLUSH_MS_MAX)
assert(FIELD_SAMPLE_MS <= FIELD_REFRESH_MS && FIELD_REFRESH_MS <= SHAPE_DESCRIBE_MS)
assert(COMMIT_GROUP_BYTES_MAX <= COMMIT_QUEUE_BYTES_MAX, 'a group fits the queue')
assert(MATERIALIZE_INSERT_BYTES * 2 <= MATERIALIZE_BUFFER_BYTES_MAX, 'one insert while one fills')
assert(MATERIALIZE_SMALL_BYTES_MAX < MATERIALIZE_INSERT_BYTES, 'what is full is not small')
assert(EVENTS_PAGE_DEFAULT <= EVENTS_PAGE_MAX, 'the default page is allowed')
assert(REPLAY_SEGMENTS_MAX <= POOL_QUEUE_REBUILDS_MAX, 'a replay step fits the queue')
assert(IN_FLIGHT_REQUESTS_MAX <= CREDENTIAL_LOOKUPS_MAX, 'whoever may come in may be looked up')
assert(
  LISTS_MAX + REVIEWS_MAX < POSTGRES_READ_CONNECTIONS_MAX,
  'a query finds a connection beside lists and reviews',
)
assert(REVIEWS_MAX * REVIEW_TASKS_MAX <= POOL_QUEUE_REVIEWS_MAX, 'reviews fit their queue')
assert(REVIEW_PATHS_MAX <= REVIEW_PATHS_HELD_MAX, 'what is told is held')
assert(QUERY_GRACE_MS < READ_GRACE_MS, 'an engine that hangs is named before')
assert(REVIEW_MS_MAX < POOL_TASK_MS_MAX, 'a review ends before its tasks are taken for hung')
assert(MANAGEMENT_MAX * 2 <= POSTGRES_CONTROL_CONNECTIONS_MAX, 'management leaves half to leases')
assert(MATERIALIZE_INSERTS_MAX < ENGINE_WRITES_MAX, 'catch-up finds a place beside inserts')
assert(ENGINE_WRITES_MAX <= CLICKHOUSE_WRITE_CONNECTIONS_MAX, 'each place can be reached')
assert(ENGINE_CONTROLS_MAX <= CLICKHOUSE_CONTROL_CONNECTIONS_MAX, 'each place can be reached')
assert(QUERIES_MAX * 2 <= CLICKHOUSE_READ_CONNECTIONS_MAX, 'statistics are two queries')
assert(QUERIES_EMBEDDED_MAX <= ENGINE_READS_MAX, 'an admitted query finds a place')
assert(EVENTS_PAGE_BYTES_MAX * 2 <= REPLY_BYTES_MAX, 'two of the largest pages are sent at a time')
assert(CONTROL_POLL_MS <= 500, 'a revocation acts within a second')
assert(CONTROL_POLL_MS + TAIL_RIGHTS_MS < 1_000, 'a revoked token ends its tails within a second')
assert(TAIL_MATCH_EVENTS_MAX <= MATCH_EVENTS_MAX, 'a tail is told of all that match at once')
assert(SEGMENT_EVENTS_MAX <= TAIL_MATCH_EVENTS_MAX, 'a segment is matched at once')
assert(TAILS_PER_TOKEN_MAX < TAILS_MAX, 'one token leaves room for tails of others')
assert(CONTROL_POLL_MS * 5 <= CONTROL_STALE_MS_MAX, 'polls that are late ask nothing more')
assert(CLOCK_LEAD_MS_MAX < COMPACT_AGE_MS, 'a stretch being merged is past on every node')
assert(NODE_LEASE_RENEW_MS * 3 <= NODE_LEASE_MS, 'a lease survives two failed renewals')
assert(RETAIN_TRIM_SHARE > 0 && RETAIN_TRIM_SHARE < 1, 'what is trimmed is a part')
assert(COMMIT_RESOLVE_MS_MAX < COMPACT_AGE_MS, 'no commit is under way in a stretch being merged')
assert(
  CONTROL_STALE_MS_MAX + COMMIT_RESOLVE_MS_MAX < RETAIN_PURGE_GRACE_MS,
  'a deleted stream outlives its commits',
)
assert(PROMOTED_BUSY_NOTED_MS * 2 <= PROMOTED_IDLE_MS, 'a busy stream is not taken for an idle one')
assert(86_400_000 % COMPACT_WINDOW_MS === 0, 'a merged row is of one day, as is a partition')
assert(SPLIT_ROWS_MAX <= COMPACT_MEMBERS_MAX, 'a stream has one segment in a mixed row')
assert(COMPACT_MEMBERS_MAX < COMPACT_WALK_ROWS_MAX, 'a walk sees the end of a run')
assert(COMPACT_SMALL_BYTES_MAX * 2 <= COMPACT_BYTES_MAX, 'two small rows fit a merged one')
assert(COMPACT_SMALL_EVENTS_MAX * 2 <= SEGMENT_EVENTS_MAX, 'two small rows fit a merged one')
