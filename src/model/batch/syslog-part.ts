/** What listeners of syslog tell the decoder of their batches. */

export interface SyslogPartOptions {
  /** Of times that do not say theirs: a name of IANA's list. */
  readonly timeZone: string
}
