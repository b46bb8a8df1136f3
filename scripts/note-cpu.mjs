/** Preloaded into each test file by `npm test -- --times`: what CPU it and its children used. */
import { appendFileSync, readFileSync } from 'node:fs'

const file = process.argv[1] ?? ''
/** Of `/proc/self/stat`, in hundredths of a second: own user and system time, then children's. */
const TIMES_AT = 11

if (file.endsWith('.test.js') && process.env.TEST_TIMES !== undefined) {
  process.on('exit', () => {
    // The name in brackets may hold spaces.
    const fields = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1).split(' ')
    const ticks = fields.slice(TIMES_AT, TIMES_AT + 4).reduce((sum, text) => sum + Number(text), 0)
    const line = { file, what: 'cpu', ms: ticks * 10 }
    appendFileSync(process.env.TEST_TIMES, `${JSON.stringify(line)}\n`)
  })
}
