/** Messages to channels, and sending again what was given up. */
import { EXIT_NOTHING, EXIT_OK, type Invocation, textOf } from '../command.ts'
import { UsageError } from '../usage-error.ts'
import { limitOf } from './look-at-rules.ts'
import { type GroupValues, groupText, ownerQuery, readHistory } from './rules.ts'

export const MESSAGE_STATES = ['dead', 'waiting', 'delivered'] as const

interface Message {
  readonly id: string
  readonly channel: string
  readonly attempts: number
  readonly last_error: string | null
  readonly rule: string
  readonly reason: string
  /** How many groups it tells of. */
  readonly alert_count: number
  /** Of the first of them; null: it is forgotten. */
  readonly transition: {
    readonly kind: string
    readonly group: GroupValues
    readonly decided_at: string
  } | null
}

export async function messages({ client, terminal, values }: Invocation): Promise<number> {
  const state = textOf(values.state) ?? 'dead'
  if (!(MESSAGE_STATES as readonly string[]).includes(state)) {
    throw new UsageError(`--state takes ${MESSAGE_STATES.join(', ')}`)
  }
  if (values.dead === true && state !== 'dead') throw new UsageError('--dead is --state dead')
  const query = {
    ...{ state, rule: textOf(values.rule), ...ownerQuery(values) },
    limit: String(limitOf(values.limit)),
  }
  const text = await client.text('alerts/messages', { query })
  const found = readHistory<Message>(text, 'messages')
  if (values.json === true) {
    for (const { json } of found) terminal.json(json)
  } else {
    const rows = found.map(({ read: one }) => [
      ...[one.id, one.transition?.decided_at ?? '-', one.rule, one.transition?.kind ?? one.reason],
      ...[toldText(one), one.channel, String(one.attempts), one.last_error ?? '-'],
    ])
    const heading = ['ID', 'DECIDED', 'RULE', 'WHAT', 'GROUP', 'CHANNEL', 'TRIES', 'WHY']
    terminal.line(terminal.table([heading, ...rows]))
  }
  return found.length === 0 ? EXIT_NOTHING : EXIT_OK
}

function toldText({ transition, alert_count: count }: Message): string {
  return transition === null || count > 1 ? `${count} groups` : groupText(transition.group)
}

export async function sendAgain(
  { client, terminal }: Invocation,
  [id]: readonly string[],
): Promise<number> {
  await client.call(`alerts/messages/${encodeURIComponent(id!)}/send`, { method: 'POST' })
  terminal.note('it is sent again')
  return EXIT_OK
}
