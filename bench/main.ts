/**
 * `npm run bench`: micro benches of single steps, on one thread, over the same batch of lines.
 *
 * Prints microseconds an event, MB/s of input, and the multiple of `JSON.parse` of the same lines
 * in the same run: compare multiples between machines, never times.
 */
import { parseArgs } from 'node:util'
import { type MicroResult, type MicroSkip, runMicroBenches } from './run-micro.ts'
import { formatNumber, formatTable } from './table.ts'

const USAGE = `usage: npm run bench -- [options]
  --filter TEXT   only benches whose name contains TEXT
  --corpus FILE   lines of FILE (NDJSON) instead of generated ones
  --events N      events a batch (1000)
  --time-ms N     measured time of each bench (500)
  --json          print JSON`

function printTable(results: readonly (MicroResult | MicroSkip)[]): void {
  const rows = results.flatMap((result) =>
    'skipped' in result
      ? []
      : [
          [
            result.name,
            result.title,
            formatNumber(result.microsPerEvent),
            formatNumber(result.megabytesPerSecond),
            result.timesJsonParse.toFixed(2),
          ],
        ],
  )
  console.log(formatTable(['bench', 'work', 'µs/event', 'MB/s', '× JSON.parse'], rows))
  for (const result of results) {
    if ('skipped' in result) console.log(`skipped ${result.name}: ${result.skipped}`)
  }
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      filter: { type: 'string' },
      corpus: { type: 'string' },
      events: { type: 'string', default: '1000' },
      'time-ms': { type: 'string', default: '500' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return console.log(USAGE)
  const results = await runMicroBenches({
    filter: values.filter,
    corpus: values.corpus,
    events: Number(values.events),
    timeMs: Number(values['time-ms']),
  })
  if (values.json) console.log(JSON.stringify(results, undefined, 2))
  else printTable(results)
}

await main()
