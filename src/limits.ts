/**
 * The bounds that clients can meet, and those that several files or a relation below need. Each has
 * a test that hits it, and what a client can meet is named in the error it causes. What only tunes
 * one file is a constant of that file.
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
/** When another process has taken the port meanwhile: how long until it is tried again, at most. */
export const LISTEN_RETRY_MS_MAX = 30_000
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
/** How many bytes of a refused body are read and thrown away so that the client sees the reply. */
export const LINGER_BYTES_MAX = 16 * MIB
/** How long a refused body is read and thrown away. */
export const LINGER_MS_MAX = 5_000
/** A body that makes no progress for this long is aborted. */
export const BODY_IDLE_MS_MAX = 30_000
/** Connections of OTLP over gRPC, and calls of one at a time. */
export const GRPC_CONNECTIONS_MAX = 1_000
export const GRPC_CALLS_MAX = 128
/** What a call, and all calls of a connection, may send ahead of what was read of them. */
export const GRPC_WINDOW_BYTES = 256 * KIB
export const GRPC_CONNECTION_WINDOW_BYTES = MIB
/** A connection on which nothing comes for so long is closed; clients open another one. */
export const GRPC_IDLE_MS_MAX = 10 * 60_000
/** Listeners of syslog; each may hold a queue. */
export const SYSLOG_LISTENERS_MAX = 16
/** A message of syslog; what is longer is cut, and says so. */
export const SYSLOG_MESSAGE_BYTES_MAX = 64 * KIB
/** Read by a listener and not committed: then TCP is not read, and datagrams are dropped. */
export const SYSLOG_QUEUE_BYTES_MAX = 8 * MIB
/** The same of one connection, which is not read meanwhile; others are. */
export const SYSLOG_CONNECTION_BYTES_MAX = 4 * MIB
/** Connections of syslog, all listeners together, and of them those from one address. */
export const SYSLOG_CONNECTIONS_MAX = 1_000
export const SYSLOG_ADDRESS_CONNECTIONS_MAX = 250
/** Halves of messages, of all connections together; past it, whose half would grow is closed. */
export const SYSLOG_HALVES_BYTES_MAX = 16 * MIB
/** When there are too many connections, one that said nothing for so long gives its place. */
export const SYSLOG_IDLE_MS_MAX = 5 * 60_000
/** How long a connection may take for its TLS handshake. */
export const SYSLOG_HANDSHAKE_MS_MAX = 10_000

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
/** A stream that has not sent so much for this long may lose its place to one that does. */
export const PROMOTED_IDLE_MS = 86_400_000
/** How exactly the last time is known: it is written no more often. */
export const PROMOTED_BUSY_NOTED_MS = 3_600_000
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
/** …for so long. A burst counts for as long at most. */
export const SLOW_BODY_MS = 5_000
/** Requests accepted and not yet acknowledged. */
export const IN_FLIGHT_REQUESTS_MAX = 16_384
/** Tasks of redaction reviews that wait for a worker; a review has `REVIEW_TASKS_MAX` at a time. */
export const POOL_QUEUE_REVIEWS_MAX = 16
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

// --- Workers ----------------------------------------------------------------------------------

/**
 * Events' JSON made of one request of OTLP, where a resource stands once but is in each of its
 * events, or of Loki, where the labels of a stream do.
 * A request's estimate is held against it while it arrives, a batch's events when they are made.
 */
export const OTLP_GENERATED_BYTES_MAX = 32 * MIB
/** The same by bytes of a request that is not cut, so that those sharing a batch stay within it. */
export const OTLP_GENERATED_PER_BYTE_MAX = 40
/** Labels of a Loki stream, and structured metadata of an entry: names are compared in pairs. */
export const LOKI_PAIRS_MAX = 128
/** Params of a syslog message's structured data, and members of CEF or LEEF: compared in pairs. */
export const SYSLOG_PAIRS_MAX = 256
/** Events' JSON made of a batch of syslog: a message of some bytes is an event of a hundred. */
export const SYSLOG_GENERATED_BYTES_MAX = 32 * MIB
/** Events' JSON made of a batch of Splunk HEC: what a URL says stands once, but in each event. */
export const HEC_GENERATED_BYTES_MAX = 32 * MIB
/** What the URL of such a request says of its events: host, source, sourcetype and index. */
export const HEC_METADATA_BYTES_MAX = 1 * KIB
/** A worker's buffer for a batch's events that is larger is given up after its batch. */
export const EVENT_BUFFER_KEEP_BYTES = 16 * MIB

/** Distinct paths of one block that reach the projection; the raw event keeps all. */
export const BLOCK_PATHS_MAX = 1_024
/** Events of one segment and block; a batch of tiny events becomes several segments. */
export const SEGMENT_EVENTS_MAX = 8_192
/** Rows times paths of one JSON column; with more rows, fewer paths reach the projection. */
export const BLOCK_CELLS_MAX = 16 * MIB
/**
 * Memory of a worker for batches, their tapes and what is encoded from them. Beyond it a batch
 * fails. The worst that the other limits let through, 32 MiB of JSON that is all one-digit numbers
 * in arrays, takes half of it; the worker keeps that for later batches.
 */
export const ARENA_BYTES_MAX = 2048 * MIB
/** Entries of an event that may have a layout, and states that a worker keeps of all layouts. */
export const LAYOUT_ENTRIES_MAX = 256
export const LAYOUT_STATES_MAX = 32_768
/** Bytes of a user agent string that are parsed; what comes after is not looked at. */
export const USER_AGENT_BYTES_MAX = 500
/** Shapes that one batch's schema delta describes. */
export const DELTA_SHAPES_MAX = 256
/** After this long a worker describes a shape again: fields were seen, values have changed. */
export const SHAPE_DESCRIBE_MS = 60_000
/** Characters of one shape's description; leaves past it are left out. */
export const SHAPE_LEAVES_CHARS_MAX = 256 * KIB
/** Distinct samples of a field. */
export const FIELD_SAMPLES_MAX = 5

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
/** A field that is known is not written again sooner, for its being seen once more. */
export const FIELD_REFRESH_MS = 30_000
/** The same while it has fewer than `FIELD_SAMPLES_MAX` samples. */
export const FIELD_SAMPLE_MS = 5_000
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
/** Inserts of different streams at a time; the embedded engine has four places for writes. */
export const MATERIALIZE_INSERTS_MAX = 3
/** Bytes of inserts that run at a time; a larger one runs alone. */
export const MATERIALIZE_SMALL_BYTES_MAX = 4 * MIB
/** Segments that catch-up reads from the raw store at a time. */
export const REPLAY_SEGMENTS_MAX = 64
/** How long it reads on for one stream while others are behind, too. */
export const REPLAY_TURN_MS = 1_000
/** Streams that are caught up each by itself; when there are more, the node is. */
export const LAGGING_STREAMS_MAX = 64
/** How often a node looks whether it is asked to try segments again that were set aside. */
export const SET_ASIDE_POLL_MS = 2_000

// --- Retention --------------------------------------------------------------------------------

/** How long one DELETE should take. As long again nothing is done, so that ingest gets its turn. */
export const RETAIN_STEP_MS_TARGET = 40
/** How long rows of one stream are removed before the next one gets its turn. */
export const RETAIN_TURN_MS = 2_000
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
/**
 * Up to how many bytes ClickHouse merges parts of a stream's table. Two of the largest inserts of
 * plain text, which is 72 B a row, are together above it, and so are two inserts of half as many
 * events with thirty fields (102 B a row): they stay as they are.
 */
export const MERGE_BYTES_MAX = 14 * MIB
/** Bytes on disk from which on a part without indexes is not left to merging. */
export const BARE_PART_BYTES_MIN = MERGE_BYTES_MAX / 2
/** The same where its table is crowded. */
export const MERGE_CROWDED_BYTES_MAX = 512 * MIB
/** How long after its deletion a stream may still get events, from requests under way. */
export const RETAIN_PURGE_GRACE_MS = 600_000

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
/** Bytes of events as JSON of the mixed rows that are split together; one row may have more. */
export const SPLIT_BYTES_MAX = 32 * MIB
/** Mixed rows that are split together, and their segments. */
export const SPLIT_ROWS_MAX = 1_024
export const SPLIT_SEGMENTS_MAX = 32_768

// --- Management -------------------------------------------------------------------------------

export const NAME_CHARS_MAX = 200
export const REDACT_FIELDS_MAX = 256
export const REDACT_FIELD_CHARS_MAX = 512
/** Of a stream: a bare word is looked for in each. */
export const TEXT_FIELDS_MAX = 32
export const KEYS_PER_STREAM_MAX = 1_000
/** Streams that a token can be limited to. */
export const TOKEN_STREAMS_MAX = 100
/** Browsers that are signed in with one token; the one that was used least lately makes room. */
export const SESSIONS_PER_TOKEN_MAX = 100
/** How long a browser stays signed in, and never longer than its token lives… */
export const SESSION_MS_MAX = 30 * 86_400_000
/** …and how long without a request. */
export const SESSION_IDLE_MS_MAX = 7 * 86_400_000
export const VIEWS_PER_STREAM_MAX = 1_000

// --- Alerts -----------------------------------------------------------------------------------

/** Channels of an owner, to which messages are sent. */
export const ALERT_CHANNELS_MAX = 100
/** How long a webhook may take, and how much of its answer is read. */
export const WEBHOOK_MS_MAX = 10_000
export const WEBHOOK_ANSWER_BYTES_MAX = 4 * KIB
/** A channel's own template: its JSON, and placeholders in it. */
export const ALERT_TEMPLATE_BYTES_MAX = 16 * KIB
export const ALERT_TEMPLATE_PLACEHOLDERS_MAX = 100
/** Characters of values in a body by a template: what is over is cut. */
export const ALERT_BODY_CHARS_MAX = 64 * KIB
/** Recipients of a channel of mail. */
export const ALERT_RECIPIENTS_MAX = 20
/** Tests of channels that a node sends at a time; one an owner. */
export const ALERT_CHANNEL_TESTS_MAX = 8
/** A window that waits so long for its decision is late: then no heartbeat is sent. */
export const ALERT_HEARTBEAT_LATE_MS = 3 * 60_000
/** Alerts of one answer in Prometheus' form, and its characters. */
export const PROMETHEUS_ALERTS_MAX = 5_000
export const PROMETHEUS_ANSWER_CHARS_MAX = 4 * MIB
/** A message that could not be delivered for so long is dead. */
export const ALERT_DELIVERY_MS_MAX = 24 * 3_600_000
/**
 * How long the first alert of a rule waits for others before a channel is told: groups that begin
 * to fire together mostly do so in one window, or in the next one of the shortest.
 */
export const ALERT_GROUP_WAIT_MS = 10_000
/** Between two messages about groups of the same rule to the same channel. */
export const ALERT_GROUP_INTERVAL_MS = 300_000
/** A rule's `repeat` that is shorter is as long as this. */
export const ALERT_REPEAT_MS_MIN = 60_000
/** Alerts of a message in full, as far as they fit; the others are counted. */
export const ALERT_MESSAGE_ALERTS_MAX = 50
export const ALERT_MESSAGE_BYTES_MAX = MIB
/** Groups that one message is about. */
export const ALERT_MESSAGE_GROUPS_MAX = 2_000
/** Sample events of an alert, bytes of one and of all in a message: larger ones have no text. */
export const ALERT_SAMPLES_MAX = 5
export const ALERT_SAMPLE_BYTES_MAX = 8 * KIB
export const ALERT_SAMPLES_BYTES_MAX = 64 * KIB
/** How long all samples of a message may take to be read. */
export const ALERT_SAMPLES_MS_MAX = 5_000
/** Silences of an owner that are not over, matchers of one, and characters of what they match. */
export const ALERT_SILENCES_MAX = 200
export const ALERT_MATCHERS_MAX = 16
export const ALERT_MATCHER_CHARS_MAX = 1_024
/** Instructions of the program that a matcher's regular expression becomes. */
export const ALERT_REGEX_INSTRUCTIONS_MAX = 1_000
/** Rules of an owner. */
export const ALERT_RULES_MAX = 1_000
/** A rule's settings as JSON. */
export const ALERT_RULE_BYTES_MAX = 64 * KIB
export const ALERT_WINDOW_MS_MIN = 10_000
export const ALERT_WINDOW_MS_MAX = 24 * 3_600_000
/** How long after its end a window of event time may be decided. */
export const ALERT_DELAY_MS_MAX = 24 * 3_600_000
/** How far back a window may be that a rule compares with: five weeks. */
export const ALERT_BEFORE_MS_MAX = 35 * 24 * 3_600_000
/** So long after a window of event time was decided it is looked at once more. */
export const ALERT_LATE_LOOK_MS = 3_600_000
/** Windows of a rule's `for.in`, and of `keep_firing`. */
export const ALERT_FOR_WINDOWS_MAX = 100
export const ALERT_KEEP_WINDOWS_MAX = 1_000
/** Fields that a rule groups by, and groups that it looks at; others are counted. */
export const ALERT_GROUP_KEYS_MAX = 4
export const ALERT_GROUPS_MAX = 1_000
/** A group that has no events is remembered as long, where that it has none may break the rule. */
export const ALERT_GROUP_MEMORY_MS = 24 * 3_600_000
/** Windows that are due and older than this, or more than so many, are given up. */
export const ALERT_DUE_MS_MAX = 24 * 3_600_000
export const ALERT_DUE_WINDOWS_MAX = 1_000
/** Windows of one backtest. */
export const ALERT_BACKTEST_WINDOWS_MAX = 11_000
/** Of a view: all but its name. */
export const VIEW_BYTES_MAX = 64 * KIB
export const VIEW_COLUMNS_MAX = 64
export const VIEW_TAGS_MAX = 32
export const EVENTS_PAGE_DEFAULT = 100
export const EVENTS_PAGE_MAX = 1_000
/** Characters of JSON in a page of streams, tokens, views, fields or shapes; then it ends early. */
export const LIST_PAGE_BYTES_MAX = 256 * KIB
/** Characters of an answer that the main thread renders at a time. */
export const MAIN_SLICE_CHARS = 64 * KIB
/** For how long it does nothing of the kind after a piece, at most. */
export const MAIN_REST_MS_MAX = 50
/** Bytes of event JSON in one page of the event list; the page ends early past it. */
export const EVENTS_PAGE_BYTES_MAX = 16 * MIB
export const FIELDS_PAGE_DEFAULT = 1_000
export const FIELDS_PAGE_MAX = 10_000
/** Fields that are found by a part of their names, the best first… */
export const FIELDS_FOUND_DEFAULT = 20
export const FIELDS_FOUND_MAX = 100
/** …and among how many: streams past it are not looked into, and the answer says so. */
export const FIELDS_FOUND_AMONG_MAX = 100_000
export const SHAPES_PAGE_DEFAULT = 100
export const SHAPES_PAGE_MAX = 1_000
/** Most frequent values of a field in its statistics. */
export const STATS_TOP_DEFAULT = 10
export const STATS_TOP_MAX = 100
/** Events that one redaction review looks at, and how long it may take. It goes on by a cursor. */
export const REVIEW_EVENTS_MAX = 1_000_000
export const REVIEW_MS_MAX = 10_000
/** Its tasks at a time: they keep a worker busy while the next page is read. */
export const REVIEW_TASKS_MAX = 4
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
/** Fields of one request for facets, and values of each. */
export const FACET_FIELDS_MAX = 12
export const FACET_VALUES_DEFAULT = 10
export const FACET_VALUES_MAX = 100
/** Characters of a value; longer ones with the same beginning are one. */
export const FACET_VALUE_CHARS_MAX = 256
/** Up to so many events, and for so long, values are counted exactly; else among the newest. */
export const FACET_EXACT_EVENTS_MAX = 20_000_000
export const FACET_EXACT_MS = 1_000
export const FACET_EVENTS_MAX = 100_000
/** Fields of one comparison, and findings of its answer. */
export const COMPARE_FIELDS_MAX = 40
export const COMPARE_FINDINGS_DEFAULT = 10
export const COMPARE_FINDINGS_MAX = 30
/** Rows of an answer of patterns. */
export const PATTERNS_DEFAULT = 50
export const PATTERNS_MAX = 200
/** Buckets of `auto`. */
export const AUTO_BUCKETS_MAX = 120
/** Groups that a query makes on its way to the largest; and the bytes of its answer. */
export const QUERY_DISTINCT_MAX = 5_000_000
export const QUERY_RESULT_BYTES_MAX = 16 * MIB
/** Streams of one request over several. */
export const READ_STREAMS_MAX = 1_000
export const QUERY_MS_MAX = 30_000
/** How much longer ClickHouse may take to say so: then it is not waited for any more. */
export const QUERY_GRACE_MS = 1_000
/** The same of all that a read waits for; then it is answered whatever hangs. */
export const READ_GRACE_MS = 1_500
/** Events of such segments that are evaluated at a time: at first, later, and in all. */
export const SEARCH_CHUNK_EVENTS = 16_384
export const SEARCH_CHUNK_EVENTS_MAX = 131_072
export const SEARCH_PENDING_EVENTS_MAX = 1_000_000
/** So many times as many, where the query asks for an id. */
export const SEARCH_RARE_FACTOR = 1_024
export const SEARCH_WINDOW_MS_MIN = 100
/** Later ones grow so that each takes about so long, but by these factors at the least and most. */
export const SEARCH_WINDOW_TARGET_MS = 80
export const SEARCH_GROWTH_MIN = 2
export const SEARCH_GROWTH_MAX = 128
/** Paths that records of a search are limited to. */
export const SEARCH_FIELDS_MAX = 64
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
/** Requests in Elasticsearch's form: bodies, searches of one, hits and buckets of a search. */
export const ELASTIC_BODY_BYTES_MAX = MIB
export const ELASTIC_SEARCHES_MAX = 100
export const ELASTIC_HITS_MAX = 10_000
export const ELASTIC_HITS_BYTES_MAX = 32 * MIB
export const ELASTIC_BUCKETS_MAX = 65_535
/** Aggregations and filters of one search, how deep they are, and how many queries that makes. */
export const ELASTIC_AGGS_MAX = 100
export const ELASTIC_LEVELS_MAX = 5
export const ELASTIC_SCANS_MAX = 100
/** Buckets of a moving window. */
export const ELASTIC_WINDOW_MAX = 10_000
/** Fields that a list of them has. */
export const ELASTIC_FIELDS_MAX = 20_000
/** An answer that ends later than what is projected by more than this is not whole. */
export const ELASTIC_LAG_MS_MAX = 10_000
/** A request of an agent (MCP); how long a call may take; what its result is cut to. */
export const MCP_BODY_BYTES_MAX = 4 * MIB
export const MCP_CALL_MS_MAX = 60_000
export const MCP_RESULT_CHARS_MAX = 40_000
/** Where a string in a result is cut. */
export const MCP_STRING_CHARS_MAX = 500
/** An event with those around it, which are read for what happened and not for each value. */
export const MCP_AROUND_CHARS_MAX = 8_000
/** Streams of one list, events of one search, cells of one aggregate. */
export const MCP_STREAMS_PAGE = 200
export const MCP_SEARCH_EVENTS_MAX = 200
export const MCP_CELLS_MAX = 1_000
/** Of `find_patterns`, which is a first look. */
export const MCP_PATTERNS_CHARS_MAX = 4_000
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
/** Queries of rules at a time, and how long one waits for its turn. */
export const ALERT_QUERIES_MAX = 2
export const ALERT_QUERY_WAIT_MS_MAX = 60_000
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
/** Events that it looks at for what it has missed, the newest; and at a time. */
export const TAIL_RESUME_EVENTS_MAX = 10_000
export const TAIL_RESUME_PAGE_EVENTS = 1_000
/** Segments that wait to be matched, of all tails, and for how long: then they are gaps. */
export const TAIL_WAITING_SEGMENTS_MAX = 4_096
export const TAIL_WAITING_BYTES_MAX = 16 * MIB
export const TAIL_BEHIND_MS_MAX = 1_000
/** Events that are matched at once, or a single segment of more. */
export const TAIL_MATCH_EVENTS_MAX = 10_000
/** Events a second that a reader may ask to see at most. */
export const TAIL_LIMIT_PER_S_MAX = 100_000
/** How often other nodes' commits are looked for, and how many rows of each at a time. */
export const TAIL_POLL_MS = 100
export const TAIL_POLL_ROWS_MAX = 1_000
/** How often it is looked whether tokens and streams still are. */
export const TAIL_RIGHTS_MS = 250

// --- Nodes ------------------------------------------------------------------------------------

/** How long a node number stays with a process that does not renew it. */
export const NODE_LEASE_MS = 15_000
export const NODE_LEASE_RENEW_MS = 5_000
/** A node whose lease ran out this long ago is gone: a living one does what is left of its work. */
export const NODE_GONE_MS = 60_000
/** How often a node looks for such work, and whether what it took over is done. */
export const TAKE_OVER_POLL_MS = 2_000
/** Numbers whose work a node does at a time, beside its own: each has its caches. */
export const NODES_TAKEN_OVER_MAX = 8
/**
 * How long after a node was last entitled to send it an insert may still begin in ClickHouse. The
 * server closes a connection on which it has heard nothing for 30 s (`http_receive_timeout`,
 * `keep_alive_timeout`), and what comes later on it is lost; the rest is for what it has heard of.
 */
export const INSERT_ARRIVAL_MS_MAX = 40_000
/**
 * How far ahead of PostgreSQL's clock a node may give out receipt times. Clocks that are kept by
 * NTP differ by milliseconds; a machine without it may be off by some seconds.
 */
export const CLOCK_LEAD_MS_MAX = 60_000

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
assert(
  QUERIES_EMBEDDED_MAX + ALERT_QUERIES_MAX <= ENGINE_READS_MAX,
  'an admitted query finds a place, and so does one of a rule',
)
assert(EVENTS_PAGE_BYTES_MAX * 2 <= REPLY_BYTES_MAX, 'two of the largest pages are sent at a time')
assert(CONTROL_POLL_MS <= 500, 'a revocation acts within a second')
assert(CONTROL_POLL_MS + TAIL_RIGHTS_MS < 1_000, 'a revoked token ends its tails within a second')
assert(TAIL_MATCH_EVENTS_MAX <= MATCH_EVENTS_MAX, 'a tail is told of all that match at once')
assert(SEGMENT_EVENTS_MAX <= TAIL_MATCH_EVENTS_MAX, 'a segment is matched at once')
assert(TAILS_PER_TOKEN_MAX < TAILS_MAX, 'one token leaves room for tails of others')
assert(CONTROL_POLL_MS * 5 <= CONTROL_STALE_MS_MAX, 'polls that are late ask nothing more')
assert(CLOCK_LEAD_MS_MAX < COMPACT_AGE_MS, 'a stretch being merged is past on every node')
assert(NODE_LEASE_RENEW_MS * 3 <= NODE_LEASE_MS, 'a lease survives two failed renewals')
assert(INSERT_ARRIVAL_MS_MAX < NODE_GONE_MS, "a gone node's last insert has begun, or never will")
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
