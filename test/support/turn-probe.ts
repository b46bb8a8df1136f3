/**
 * Runs within a service under test (`--import`), and measures how long its main thread's turns are:
 * the processor time between two ticks of a timer that comes with every turn. Wall-clock time would
 * measure as well who else uses the machine. On SIGUSR2 the longest since the last one is appended
 * to the file of SLUICE_TEST_TURNS, as a line.
 */
import { appendFileSync, closeSync, openSync, readSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'
import { ENTRY } from './service.ts'

const file = process.env.SLUICE_TEST_TURNS

if (file !== undefined && isMainThread && process.argv[1] === ENTRY) {
  const bytes = Buffer.alloc(64)
  const cpuMs = () => {
    // On this thread: nanoseconds on a processor, then others.
    const schedstat = openSync('/proc/thread-self/schedstat', 'r')
    const length = readSync(schedstat, bytes, 0, bytes.length, 0)
    closeSync(schedstat)
    return Number(bytes.toString('latin1', 0, length).split(' ')[0]) / 1e6
  }
  let last = cpuMs()
  let longest = 0
  setInterval(() => {
    const now = cpuMs()
    longest = Math.max(longest, now - last)
    last = now
  }, 1).unref()
  process.on('SIGUSR2', () => {
    appendFileSync(file, `${longest.toFixed(2)}\n`)
    longest = 0
  })
}
