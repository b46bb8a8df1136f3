/**
 * What accept and the decoder of syslog tell each other. The bytes of a part are records, one a
 * message:
 *
 *   u32, little-endian: bytes that follow | u8: flags | u8: length of the peer's address |
 *   that address in ASCII | the message, without its framing
 */

/** Bytes before the peer's address. */
export const SYSLOG_HEAD_BYTES = 6
/** Of the flags: the message was longer, and its rest is lost. */
export const SYSLOG_CUT = 1

/** What the decoder is told of a part: of its listener. */
export interface SyslogPartOptions {
  /** Of times that do not say theirs: a name that `isTimeZone` knows. UTC if absent. */
  readonly timeZone?: string
}

/** Whether this is the name of a time zone, such as `Europe/Berlin`. */
export function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}
