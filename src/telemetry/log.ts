/**
 * Sluice's own log: JSON lines on stderr (stdout belongs to the lines that `main.ts` prints for
 * people). Event contents and secrets are never logged; the redaction below is the second net.
 */
import { type DestinationStream, type Logger, pino } from 'pino'
import type { LogLevel } from '../config.ts'

export type Log = Logger

const SECRET_KEYS = ['authorization', 'x-api-key', 'password', 'token', 'secret', 'api_key']

/** `destination` is stderr unless a test wants the lines. */
export function createLog(
  level: LogLevel,
  destination: DestinationStream = pino.destination({ fd: 2, sync: true }),
): Log {
  return pino(
    {
      level,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: {
        paths: SECRET_KEYS.flatMap((key) => [`["${key}"]`, `*["${key}"]`, `*.*["${key}"]`]),
        censor: '[REDACTED]',
      },
    },
    destination,
  )
}

/** Of failures in a row so many are logged one by one; after that, every hundredth. */
const FAILURES_LOGGED = 3

/** Whether the failure that is the `failures`-th in a row is told. */
export function isWorthLogging(failures: number): boolean {
  return failures <= FAILURES_LOGGED || failures % 100 === 0
}

/** What went wrong, without what else the error holds. */
export function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}
