/** `npm run bench:query`: the command line of the bench of reads. What it does: `run-states.ts`. */
import { parseArgs } from 'node:util'
import { FIRST } from './measure-rows.ts'
import { formatResult } from './report.ts'
import { QUERY_ROWS } from './rows.ts'
import { type RunOptions, runStates, STATES, type State } from './run-states.ts'

const NAMES = [...QUERY_ROWS.map(({ name }) => name), FIRST.name]

const USAGE = `usage: npm run bench:query -- [options]
  --events N      how many events are asked about (5000000)
  --rows A,B      only these: ${NAMES.join(', ')}
  --states A,B    only these: ${STATES.join(', ')}
  --runs N        of each row, after two to warm it up (7)
  --seconds N     one window of load (10)
  --entry FILE    main.js of another build, to compare with
  --turn COMMAND  runs its arguments when the machine is ours; measured while it does
  --json          print JSON`

const OPTIONS = {
  events: { type: 'string', default: '5000000' },
  rows: { type: 'string', default: NAMES.join(',') },
  states: { type: 'string', default: STATES.join(',') },
  runs: { type: 'string', default: '7' },
  seconds: { type: 'string', default: '10' },
  entry: { type: 'string' },
  turn: { type: 'string' },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const

async function main(): Promise<void> {
  const { values } = parseArgs({ options: OPTIONS })
  if (values.help) return console.log(USAGE)
  const [events, runs, seconds] = [values.events, values.runs, values.seconds].map(Number)
  const names = values.rows.split(',')
  const states = values.states.split(',')
  const isKnown = names.every((name) => NAMES.includes(name)) && states.every(isState)
  if (!isKnown || !events || !runs || !seconds) throw new Error(USAGE)
  const options: RunOptions = {
    rows: QUERY_ROWS.filter(({ name }) => names.includes(name)),
    hasFirst: names.includes(FIRST.name),
    states: states.filter(isState),
    events,
    runs,
    seconds,
    entry: values.entry,
    turnCommand: values.turn,
    log: (line) => console.error(`# ${line}`),
  }
  const result = await runStates(options)
  console.log(values.json ? JSON.stringify(result, undefined, 2) : formatResult(result))
}

function isState(text: string): text is State {
  return STATES.some((state) => state === text)
}

await main()
