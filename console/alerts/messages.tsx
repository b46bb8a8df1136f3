/** Messages to channels: above all those that were given up, which can be sent again. */
import { type Signal, useSignal } from '@preact/signals'
import { visibleLine } from '../../src/language/visible-text.ts'
import { call } from '../base/api.ts'
import { formatAgo, formatOf } from '../base/format.ts'
import { useLoaded } from '../base/loaded.ts'
import { may, ownToken } from '../base/rights.ts'
import { changed, href, route, setParams } from '../base/route.ts'
import { Failure } from '../parts/failure.tsx'
import { useTold } from '../parts/submit.ts'
import { Tabs } from '../parts/tabs.tsx'
import { callGroups, type RuleInfo, type Transition } from './rule.ts'
import { groupText } from './rule-groups.tsx'
import { KindSign } from './state-sign.tsx'

interface Message {
  readonly id: string
  readonly channel: string
  readonly state: 'waiting' | 'delivered' | 'dead'
  readonly attempts: number
  readonly last_error: string | null
  readonly rule: string
  readonly reason: string
  /** How many groups it tells of. */
  readonly alert_count: number
  /** Of the first of them; null: it is forgotten. */
  readonly transition: Transition | null
}

interface MessagePage {
  readonly messages: readonly Message[]
  readonly next: string | null
}

const STATES = [
  ['dead', 'Given up'],
  ['waiting', 'Waiting'],
  ['delivered', 'Arrived'],
] as const
const PAGE = 50
const REFRESH_MS = 10_000

export function Messages() {
  const turn = useSignal(0)
  const { params } = route.value
  const state = STATES.find(([name]) => name === params.get('state'))?.[0] ?? 'dead'
  const before = params.get('before') ?? undefined
  const { value, failure } = useLoaded(
    `messages ${state} ${before}`,
    (signal) => {
      const query = { state, before, limit: PAGE }
      return callGroups<MessagePage>('alerts/messages', { query, signal })
    },
    { turn, refreshMs: REFRESH_MS },
  )
  return (
    <>
      <div class="toolbar">
        <Tabs
          label="Which messages"
          tabs={STATES}
          selected={state}
          onSelect={(name) =>
            setParams({ state: name === 'dead' ? undefined : name, before: undefined })
          }
        />
      </div>
      {failure !== undefined && <Failure text={failure} />}
      {value?.messages.length === 0 && <p class="empty">No such message.</p>}
      {value !== undefined && value.messages.length > 0 && (
        <MessageTable messages={value.messages} turn={turn} />
      )}
      <p class="inline">
        {before !== undefined && <a href={changed({ before: undefined })}>Newest</a>}
        {typeof value?.next === 'string' && <a href={changed({ before: value.next })}>Older</a>}
      </p>
    </>
  )
}

/** Of one rule; nothing where there are none, or where the token may not see any. */
export function DeadOfRule({ rule }: { rule: RuleInfo }) {
  const turn = useSignal(0)
  const maySee = ownToken.value === undefined || ownToken.value.streams === '*'
  const { value } = useLoaded(
    `dead ${rule.id} ${maySee}`,
    async (signal): Promise<MessagePage> => {
      if (!maySee) return { messages: [], next: null }
      const query = { state: 'dead', rule: rule.id, limit: PAGE }
      return await callGroups<MessagePage>('alerts/messages', { query, signal })
    },
    { turn, refreshMs: REFRESH_MS },
  )
  const { messages = [], next = null } = value ?? {}
  if (messages.length === 0) return null
  return (
    <>
      <h2>Messages that did not arrive</h2>
      <MessageTable messages={messages} turn={turn} />
      {next !== null && (
        <p class="inline">
          <span class="quiet">The last {PAGE}.</span>{' '}
          <a href={href('alerts', undefined, { tab: 'messages' })}>Those of all rules</a>
        </p>
      )}
    </>
  )
}

interface TableProps {
  readonly messages: readonly Message[]
  readonly turn: Signal<number>
}

function MessageTable({ messages, turn }: TableProps) {
  const canSend = may('alerts:write') && messages.some(({ state }) => state === 'dead')
  return (
    <div class="scroll">
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Rule</th>
            <th scope="col">Told</th>
            <th scope="col">Decided</th>
            <th scope="col">Channel</th>
            <th scope="col">Tries</th>
            {canSend && <th scope="col">Send</th>}
          </tr>
        </thead>
        <tbody>
          {messages.map((one) => (
            <tr key={one.id}>
              <th scope="row">
                <bdi>{visibleLine(one.rule)}</bdi>
              </th>
              <td>
                <KindSign kind={one.transition?.kind ?? one.reason} />{' '}
                <bdi class="mono">{toldText(one)}</bdi>
              </td>
              <td class="when">
                {one.transition === null ? '–' : formatAgo(Date.parse(one.transition.decided_at))}
              </td>
              <td>
                <bdi>{visibleLine(one.channel)}</bdi>
              </td>
              <td>
                {one.attempts}
                {one.last_error !== null && (
                  <p class="hint">
                    <bdi>{visibleLine(one.last_error)}</bdi>
                  </p>
                )}
              </td>
              {canSend && (
                <td>
                  <SendButton message={one} turn={turn} />
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function SendButton({ message: { id }, turn }: { message: Message; turn: Signal<number> }) {
  const { onClick, isBusy } = useTold(
    async () => {
      await call(`alerts/messages/${id}/send`, { method: 'POST' })
      return 'It is sent again'
    },
    () => turn.value++,
  )
  return (
    <button
      type="button"
      class="small"
      aria-label={`Send again the message ${id}`}
      disabled={isBusy}
      onClick={onClick}
    >
      Send again
    </button>
  )
}

function toldText({ transition, alert_count: count }: Message): string {
  return transition === null || count > 1 ? formatOf(count, 'group') : groupText(transition.group)
}
