/** `sluice alerts`: which rules fire, rules in files, and what is told of them. */
import { RANGE_OPTIONS } from '../clock.ts'
import { type Command, EXIT_OK, type Invocation } from '../command.ts'
import { UsageError } from '../usage-error.ts'
import { applyRules, backtestRules } from './apply-rules.ts'
import { history, list, show } from './look-at-rules.ts'
import { MESSAGE_STATES, messages, sendAgain } from './messages.ts'
import { changePaused, ownerQuery, type Rule, rulePath } from './rules.ts'
import { acknowledge, endSilence, makeSilence, SILENCE_STATES, silences } from './silences.ts'

type Run = (invocation: Invocation, words: readonly string[]) => Promise<number>

/** What is done, with the words that it takes. */
const ACTIONS: Readonly<Record<string, readonly [words: readonly string[], run: Run]>> = {
  list: [[], list],
  show: [['<rule>'], show],
  history: [['<rule>'], history],
  put: [['<file or ->'], applyRules],
  apply: [['<file, folder or ->'], applyRules],
  backtest: [['<file or ->'], backtestRules],
  pause: [['<rule>'], (invocation, [name]) => changePaused(invocation, name!, true)],
  resume: [['<rule>'], (invocation, [name]) => changePaused(invocation, name!, false)],
  delete: [['<rule>'], remove],
  channels: [[], channels],
  messages: [[], messages],
  'send-again': [['<message id>'], sendAgain],
  silence: [['<label=value>', '…'], makeSilence],
  silences: [[], silences],
  unsilence: [['<silence id>'], endSilence],
  ack: [['<rule>', '[value of the group…]'], (one, words) => acknowledge(one, words, true)],
  unack: [['<rule>', '[value of the group…]'], (one, words) => acknowledge(one, words, false)],
}
/** They are about one's own, or about an id. */
const WITHOUT_OWNER = ['backtest', 'send-again', 'silence', 'silences', 'unsilence']
const WORDS_MAX = 20

/** Rules of alerts. */
export const alerts: Command = {
  usage: `[${Object.entries(ACTIONS)
    .map(([name, [words]]) => [name, ...words].join(' '))
    .join(' | ')}] [options]`,
  summary: 'Rules of alerts: which fire and why; rules in files; who is told; silences.',
  positionalsMax: WORDS_MAX,
  words: Object.keys(ACTIONS),
  options: {
    firing: { type: 'boolean' },
    limit: { type: 'string', short: 'n' },
    windows: { type: 'boolean' },
    'dry-run': { type: 'boolean' },
    ...RANGE_OPTIONS,
    state: { type: 'string' },
    dead: { type: 'boolean' },
    for: { type: 'string' },
    comment: { type: 'string' },
    rule: { type: 'string' },
    owner: { type: 'string' },
  },
  help: {
    firing: 'With list: only rules that fire; the exit code is 1 when none does',
    limit: 'With history and messages: how many, the newest at the end; 50',
    windows: 'With history: each window that was decided, in place of what became of groups',
    'dry-run': 'With put and apply: say what would change, and change nothing',
    from: 'With backtest: since when; -7d',
    to: 'With backtest: until when; now',
    state: `Messages: ${MESSAGE_STATES.join(', ')}; silences: ${SILENCE_STATES.join(', ')}`,
    dead: 'With messages: those that were given up, as without it',
    for: 'With silence: for how long, such as 4h; 1h',
    comment: 'With silence and ack: why',
    rule: 'With messages: only those of this rule',
    owner: 'For admins: whose rules, messages or channels are meant; what is put has to be there',
  },
  choices: { state: [...MESSAGE_STATES, ...SILENCE_STATES] },
  run: async (invocation) => {
    const [name = 'list', ...words] = invocation.positionals
    const action = Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : undefined
    if (action === undefined) {
      throw new UsageError(`alerts takes ${Object.keys(ACTIONS).join(', ')}`)
    }
    const [wanted, run] = action
    if (invocation.values.owner !== undefined && WITHOUT_OWNER.includes(name)) {
      throw new UsageError(`alerts ${name} takes no --owner`)
    }
    const needed = wanted.filter((word) => word.startsWith('<')).length
    const isOpen = wanted.some((word) => word.endsWith('…') || word.endsWith('…]'))
    if (words.length < needed || (!isOpen && words.length > wanted.length)) {
      throw new UsageError(['alerts', name, ...wanted].join(' '))
    }
    return await run(invocation, words)
  },
}

async function remove({ client, values }: Invocation, [name]: readonly string[]): Promise<number> {
  const query = ownerQuery(values)
  const { version } = await client.json<Rule>(rulePath(name!), { query })
  const headers = { 'If-Match': `"${version}"` }
  await client.call(rulePath(name!), { method: 'DELETE', headers, query })
  return EXIT_OK
}

interface Channel {
  readonly name: string
  readonly kind?: string
  readonly host?: string | null
  readonly is_signed?: boolean
  readonly updated_at: string
}

async function channels({ client, terminal, values }: Invocation): Promise<number> {
  const { channels: all } = await client.json<{ readonly channels: readonly Channel[] }>(
    'alerts/channels',
    { query: ownerQuery(values) },
  )
  if (values.json === true) {
    for (const one of all) terminal.json(JSON.stringify(one))
    return EXIT_OK
  }
  const rows = all.map(({ name, kind = 'webhook', host, is_signed: isSigned, updated_at: at }) => {
    return [name, kind, host ?? '-', isSigned === true ? 'yes' : 'no', at]
  })
  terminal.line(terminal.table([['CHANNEL', 'KIND', 'LEADS TO', 'SIGNED', 'CHANGED'], ...rows]))
  return EXIT_OK
}
