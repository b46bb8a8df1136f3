/** Messages to channels, and sending again what was given up. */
import { EXIT_NOTHING, EXIT_OK, type Invocation, textOf } from '../command.ts'
import { UsageError } from '../usage-error.ts'
import { limitOf } from './look-at-rules.ts'
import { groupText } from './rules.ts'

export const MESSAGE_STATES = ['dead', 'waiting', 'delivered'] as const

interface Message {
  readonly id: string
  readonly channel: string
  readonly attempts: number
  readonly last_error: string | null
  readonly rule: string
  readonly transition: {
    readonly kind: string
    readonly group: readonly unknown[] | null
    readonly decided_at: string
  }
}

export async function messages({ client, terminal, values }: Invocation): Promise<number> {
  const state = textOf(values.state) ?? 'dead'
  if (!(MESSAGE_STATES as readonly string[]).includes(state)) {
    throw new UsageError(`--state takes ${MESSAGE_STATES.join(', ')}`)
  }
  if (values.dead === true && state !== 'dead') throw new UsageError('--dead is --state dead')
  const query = { state, limit: String(limitOf(values.limit)) }
  const page = await client.json<{ readonly messages: readonly Message[] }>('alerts/messages', {
    query,
  })
  const found = page.messages.toReversed()
  if (values.json === true) {
    for (const one of found) terminal.json(JSON.stringify(one))
  } else {
    const rows = found.map(({ id, rule, channel, attempts, last_error: error, transition }) => [
      ...[id, transition.decided_at, rule, transition.kind, groupText(transition.group)],
      ...[channel, String(attempts), error ?? '-'],
    ])
    const heading = ['ID', 'DECIDED', 'RULE', 'WHAT', 'GROUP', 'CHANNEL', 'TRIES', 'WHY']
    terminal.line(terminal.table([heading, ...rows]))
  }
  return found.length === 0 ? EXIT_NOTHING : EXIT_OK
}

export async function sendAgain(
  { client, terminal }: Invocation,
  [id]: readonly string[],
): Promise<number> {
  await client.call(`alerts/messages/${encodeURIComponent(id!)}/send`, { method: 'POST' })
  terminal.note('it is sent again')
  return EXIT_OK
}
