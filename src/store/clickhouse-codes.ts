/**
 * ClickHouse's error numbers that only the values of an INSERT can be the cause of: the same values
 * fail again, in whatever state the server is, and others do not.
 *
 * An allow-list: what is not known to be so (rights, quotas, columns, settings, versions) is for an
 * operator to mend, and the data waits. Nor are numbers listed that a connection cut in the midst
 * of the data gives as well: ATTEMPT_TO_READ_AFTER_EOF (32), CANNOT_READ_ALL_DATA (33).
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
