/** What is not told for a while: silences by labels, and groups that somebody knows of. */
import {
  type AlertMatcher,
  labelValue,
  matcherText,
  tryReadMatcher,
} from '../../model/alerts/alert-matchers.ts'
import { tryParseDuration } from '../../model/duration.ts'
import { formatTimeMs } from '../../model/rfc3339.ts'
import { EXIT_NOTHING, EXIT_OK, type Invocation, textOf } from '../command.ts'
import { UsageError } from '../usage-error.ts'
import { type GroupState, groupText, ownerQuery, parseGroups, rulePath } from './rules.ts'

export const SILENCE_STATES = ['active', 'pending', 'expired'] as const

interface Silence {
  readonly id: string
  readonly state?: string
  readonly matchers: readonly AlertMatcher[]
  readonly from: string
  readonly to: string
  readonly comment: string
}

/** `alertname=web-errors service=~ca.*`: of alerts with all of these labels. */
export async function makeSilence(
  { client, terminal, values }: Invocation,
  words: readonly string[],
): Promise<number> {
  const lasts = textOf(values.for) ?? '1h'
  const ms = tryParseDuration(lasts)
  if (ms === undefined) throw new UsageError('--for takes a time such as 4h')
  const text = await client.text('alerts/silences', {
    body: {
      matchers: words.map(readMatcher),
      to: formatTimeMs(Date.now() + ms),
      comment: textOf(values.comment) ?? '',
    },
  })
  if (values.json === true) terminal.json(text)
  else terminal.line((JSON.parse(text) as Silence).id)
  return EXIT_OK
}

/** Throws `UsageError`. */
function readMatcher(word: string): AlertMatcher {
  const matcher = tryReadMatcher(word)
  if (matcher !== undefined) return matcher
  throw new UsageError(`${word} is not like service=cart, service!=cart, service=~c.*`)
}

export async function silences({ client, terminal, values }: Invocation): Promise<number> {
  const state = textOf(values.state) ?? 'active'
  if (!(SILENCE_STATES as readonly string[]).includes(state)) {
    throw new UsageError(`--state takes ${SILENCE_STATES.join(', ')}`)
  }
  const all = await client.listAll<Silence>('alerts/silences', 'silences', { state })
  if (values.json === true) {
    for (const one of all) terminal.json(JSON.stringify(one))
  } else {
    const rows = all.map(({ id, matchers, from, to, comment }) => {
      return [id, matchers.map(matcherText).join(' '), from, to, comment || '-']
    })
    terminal.line(terminal.table([['ID', 'OF ALERTS WITH', 'FROM', 'TO', 'WHY'], ...rows]))
  }
  return all.length === 0 ? EXIT_NOTHING : EXIT_OK
}

export async function endSilence(
  { client, terminal }: Invocation,
  [id]: readonly string[],
): Promise<number> {
  await client.call(`alerts/silences/${encodeURIComponent(id!)}`, { method: 'DELETE' })
  terminal.note('the silence is over')
  return EXIT_OK
}

/** Of the group with these values; without any of all that fire. */
export async function acknowledge(
  { client, terminal, values }: Invocation,
  [name, ...wanted]: readonly string[],
  isKnown: boolean,
): Promise<number> {
  const path = `${rulePath(name!)}/groups`
  const query = ownerQuery(values)
  const text = await client.text(path, { query })
  const { groups } = parseGroups(text) as { readonly groups: readonly GroupState[] }
  const isMeant = ({ group, state }: GroupState) => {
    if (wanted.length === 0) return state === 'firing'
    return (group ?? []).map(labelValue).join('\n') === wanted.join('\n')
  }
  const meant = groups.filter(isMeant)
  if (meant.length === 0) {
    terminal.note(wanted.length === 0 ? 'no group fires' : 'the rule has no such group')
    return EXIT_NOTHING
  }
  for (const { fingerprint, group } of meant) {
    await client.call(`${path}/${fingerprint}/acknowledge`, {
      query,
      method: isKnown ? 'POST' : 'DELETE',
      ...(isKnown && { body: { comment: textOf(values.comment) ?? '' } }),
    })
    terminal.note(
      `${groupText(group)}: ${isKnown ? 'told no more until it is resolved' : 'is told again'}`,
    )
  }
  return EXIT_OK
}
