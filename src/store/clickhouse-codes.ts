/** ClickHouse's error numbers that we act on. */
export const UNKNOWN_FUNCTION = 46
export const UNKNOWN_TABLE = 60
export const UNKNOWN_DATABASE = 81
export const UNKNOWN_SETTING = 115
export const TOO_MANY_ROWS = 158
export const TIMEOUT_EXCEEDED = 159
export const MEMORY_LIMIT_EXCEEDED = 241
export const THROW_IF = 395
export const TOO_MANY_ROWS_OR_BYTES = 396
export const ACCESS_DENIED = 497
export const NO_SUCH_PROJECTION_IN_TABLE = 582
export const UNKNOWN_STATUS_OF_INSERT = 319
const CANNOT_WRITE_TO_FILE = 75 // What a full disk looks like when it was not foreseen.
const NOT_ENOUGH_SPACE = 243

export const DISK_FULL_CODES: ReadonlySet<number> = new Set([
  CANNOT_WRITE_TO_FILE,
  NOT_ENOUGH_SPACE,
])

/** The same statement may succeed later. */
export const UNAVAILABLE_CODES: ReadonlySet<number> = new Set([
  TIMEOUT_EXCEEDED,
  164, // READONLY: a replica that lost its keeper
  202, // TOO_MANY_SIMULTANEOUS_QUERIES
  209, // SOCKET_TIMEOUT
  210, // NETWORK_ERROR
  236, // ABORTED: the server is shutting down
  MEMORY_LIMIT_EXCEEDED,
  242, // TABLE_IS_READ_ONLY
  252, // TOO_MANY_PARTS
  279, // ALL_CONNECTION_TRIES_FAILED
  285, // TOO_FEW_LIVE_REPLICAS
  286, // UNSATISFIED_QUORUM_FOR_PREVIOUS_WRITE
  UNKNOWN_STATUS_OF_INSERT,
  369, // ALL_REPLICAS_ARE_STALE
  394, // QUERY_WAS_CANCELLED
  425, // SYSTEM_ERROR
  999, // KEEPER_EXCEPTION
])

/**
 * ClickHouse's error numbers that only the values of an INSERT can cause: the same values fail
 * again, whatever state the server is in, and other values do not.
 *
 * An allow-list: any other failure (rights, quotas, columns, settings, versions) is for an operator
 * to fix, and the data waits. Numbers that a connection cut in the middle of the data can also
 * cause are not listed: ATTEMPT_TO_READ_AFTER_EOF (32), CANNOT_READ_ALL_DATA (33).
 */
export const BAD_DATA_CODES: ReadonlyMap<number, string> = new Map([
  [6, 'CANNOT_PARSE_TEXT'],
  [25, 'CANNOT_PARSE_ESCAPE_SEQUENCE'],
  [26, 'CANNOT_PARSE_QUOTED_STRING'],
  [27, 'CANNOT_PARSE_INPUT_ASSERTION_FAILED'],
  [38, 'CANNOT_PARSE_DATE'],
  [41, 'CANNOT_PARSE_DATETIME'],
  [72, 'CANNOT_PARSE_NUMBER'],
  [117, 'INCORRECT_DATA'],
  [128, 'TOO_LARGE_ARRAY_SIZE'],
  [131, 'TOO_LARGE_STRING_SIZE'],
  [190, 'SIZES_OF_ARRAYS_DONT_MATCH'],
  [376, 'CANNOT_PARSE_UUID'],
  [467, 'CANNOT_PARSE_BOOL'],
  [675, 'CANNOT_PARSE_IPV4'],
  [676, 'CANNOT_PARSE_IPV6'],
])
