/** What the store tests share: directories that go away, logs that can be read, waiting. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { StoreLog } from '../../src/store/store-log.ts'

/** A new directory; call `removeDirectory` in an `after` hook. */
export function makeDirectory(): string {
  return mkdtempSync(join(tmpdir(), 'sluice-test-'))
}

export function removeDirectory(path: string): void {
  rmSync(path, { recursive: true, force: true, maxRetries: 5 })
}

export interface RecordingLog extends StoreLog {
  /** Every entry as JSON text, so that a test can look for what must not be there. */
  readonly lines: string[]
}

export function recordingLog(): RecordingLog {
  const lines: string[] = []
  const record = (fields: object, message: string) => {
    lines.push(`${message} ${JSON.stringify(fields)}`)
  }
  return { lines, debug: record, info: record, warn: record, error: record }
}

/** Waits until `check` is true; fails after `waitMs`. A check that throws is not true yet. */
export async function eventually(
  what: string,
  check: () => boolean | Promise<boolean>,
  waitMs = 30_000,
): Promise<void> {
  const startMs = performance.now()
  let last: unknown
  for (let waitedMs = 0; waitedMs < waitMs; waitedMs = performance.now() - startMs) {
    try {
      if (await check()) return
    } catch (cause) {
      last = cause
    }
    // Who has waited for seconds need not know it to the millisecond; to look costs both sides.
    await sleep(Math.min(25 + waitedMs / 20, 250))
  }
  throw new Error(`not within ${waitMs} ms: ${what}`, { cause: last })
}
