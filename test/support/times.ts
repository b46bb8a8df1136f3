/** Where the time of the whole suite goes: `npm test -- --times` names a file to append to. */
import { appendFileSync } from 'node:fs'

/** What starts or stops; the report counts what begins with `start`. */
export async function timed<T>(what: string, work: Promise<T>): Promise<T> {
  const report = process.env.TEST_TIMES
  if (report === undefined) return work
  const fromMs = performance.now()
  try {
    return await work
  } finally {
    const ms = performance.now() - fromMs
    appendFileSync(report, `${JSON.stringify({ file: process.argv[1], what, ms })}\n`)
  }
}
