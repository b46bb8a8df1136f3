/** Channels: who is told. What they were made with is not shown again. */
import { type Signal, useSignal } from '@preact/signals'
import { visibleLine } from '../../src/language/visible-text.ts'
import { call, callJson } from '../base/api.ts'
import { formatAgo } from '../base/format.ts'
import { useLoaded } from '../base/loaded.ts'
import { may } from '../base/rights.ts'
import { closeDialog, openDialog, route } from '../base/route.ts'
import { isolated } from '../base/shown-value.ts'
import { Confirm } from '../parts/confirm.tsx'
import { Failure } from '../parts/failure.tsx'
import { tell } from '../parts/notices.tsx'
import { useTold } from '../parts/submit.ts'
import { ChannelForm } from './channel-form.tsx'
import { CHANNEL_KINDS } from './channel-kinds.ts'

export interface ChannelInfo {
  readonly name: string
  readonly kind?: string
  /** Where it leads, as far as it is told. */
  readonly host?: string | null
  readonly is_signed?: boolean
  readonly has_credential?: boolean
  readonly to?: readonly string[] | null
  readonly allow_private?: boolean
  readonly updated_at: string
}

interface ChannelList {
  readonly channels: readonly ChannelInfo[]
}

/** `owner`: in place of one's own those of somebody else, for admins. */
export async function loadChannels(
  signal: AbortSignal,
  owner?: string,
): Promise<readonly ChannelInfo[]> {
  const query = { owner }
  return (await callJson<ChannelList>('alerts/channels', { query, signal })).channels
}

export function Channels() {
  const turn = useSignal(0)
  const { value: channels, failure } = useLoaded('channels', (signal) => loadChannels(signal), {
    turn,
  })
  const replaced = useSignal<ChannelInfo | undefined>(undefined)
  const isForm = route.value.params.get('dialog') === 'channel'
  return (
    <>
      <div class="toolbar list-bar">
        <span class="hint">A rule names those who are told.</span>
        <span class="spring" />
        {may('alerts:write') && (
          <button
            type="button"
            class="primary"
            onClick={() => {
              replaced.value = undefined
              openDialog('channel')
            }}
          >
            New channel
          </button>
        )}
      </div>
      {failure !== undefined && <Failure text={failure} />}
      {channels === undefined && failure === undefined && <p class="quiet">Loading…</p>}
      {channels?.length === 0 && <p class="empty">No channel yet: nobody is told of anything.</p>}
      {channels !== undefined && channels.length > 0 && (
        <ChannelTable channels={channels} turn={turn} replaced={replaced} />
      )}
      {isForm && may('alerts:write') && (
        <ChannelForm
          replaced={replaced.value}
          names={(channels ?? []).map(({ name }) => name)}
          onSaved={() => turn.value++}
          onClose={() => closeDialog('channel')}
        />
      )}
    </>
  )
}

interface TableProps {
  readonly channels: readonly ChannelInfo[]
  readonly turn: Signal<number>
  readonly replaced: Signal<ChannelInfo | undefined>
}

function ChannelTable({ channels, turn, replaced }: TableProps) {
  const deleting = useSignal<ChannelInfo | undefined>(undefined)
  return (
    <div class="scroll">
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Leads to</th>
            <th scope="col">Signed</th>
            <th scope="col">Changed</th>
            {may('alerts:write') && <th scope="col">Change</th>}
          </tr>
        </thead>
        <tbody>
          {channels.map((one) => (
            <ChannelRow
              key={one.name}
              channel={one}
              onReplace={() => {
                replaced.value = one
                openDialog('channel')
              }}
              onDelete={() => (deleting.value = one)}
            />
          ))}
        </tbody>
      </table>
      {deleting.value !== undefined && (
        <DeleteDialog
          channel={deleting.value}
          onDeleted={() => turn.value++}
          onClose={() => (deleting.value = undefined)}
        />
      )}
    </div>
  )
}

interface RowProps {
  readonly channel: ChannelInfo
  readonly onReplace: () => void
  readonly onDelete: () => void
}

function ChannelRow({ channel, onReplace, onDelete }: RowProps) {
  const { name, host, kind = 'webhook' } = channel
  return (
    <tr>
      <th scope="row">
        <bdi>{visibleLine(name)}</bdi>
      </th>
      <td>
        {CHANNEL_KINDS.find((one) => one.kind === kind)?.label ?? visibleLine(kind)}{' '}
        <bdi class="mono">{visibleLine(host ?? '')}</bdi>
        {(channel.to ?? []).length > 0 && (
          <p class="hint">
            to <bdi>{visibleLine(channel.to!.join(', '))}</bdi>
          </p>
        )}
        {channel.allow_private === true && <p class="hint">also inside</p>}
      </td>
      <td>{channel.is_signed === true ? 'yes' : 'no'}</td>
      <td class="when">{formatAgo(Date.parse(channel.updated_at))}</td>
      {may('alerts:write') && (
        <td class="row-buttons">
          <TestButton channel={channel} />
          <button
            type="button"
            class="small"
            aria-label={`Replace the channel ${isolated(visibleLine(name))}`}
            onClick={onReplace}
          >
            Replace
          </button>
          <button
            type="button"
            class="small danger"
            aria-label={`Delete the channel ${isolated(visibleLine(name))}`}
            onClick={onDelete}
          >
            Delete
          </button>
        </td>
      )}
    </tr>
  )
}

interface Tested {
  readonly outcome: string
  readonly status: number | null
  readonly answer: string
  readonly error: string | null
  readonly duration_ms: number
}

/** Sends a test, and says what came of it. */
function TestButton({ channel: { name } }: { channel: ChannelInfo }) {
  const { onClick, isBusy } = useTold(async () => {
    const tested = await callJson<Tested>(`alerts/channels/${name}/test`, { method: 'POST' })
    const { outcome, status, error, answer, duration_ms: ms } = tested
    const why = [error, answer].filter(Boolean).join(': ')
    const text = [outcome, ...(status === null ? [] : [status]), `${ms} ms`].join(', ')
    tell(
      `${isolated(visibleLine(name))}: ${visibleLine(`${text} ${why}`)}`,
      outcome !== 'delivered',
    )
    return undefined
  })
  return (
    <button
      type="button"
      class="small"
      aria-label={`Test the channel ${isolated(visibleLine(name))}`}
      disabled={isBusy}
      onClick={onClick}
    >
      Test
    </button>
  )
}

interface DeleteProps {
  readonly channel: ChannelInfo
  readonly onDeleted: () => void
  readonly onClose: () => void
}

function DeleteDialog({ channel: { name }, onDeleted, onClose }: DeleteProps) {
  const remove = async () => {
    await call(`alerts/channels/${name}`, { method: 'DELETE' })
    tell(`${isolated(visibleLine(name))} is deleted`)
    onDeleted()
  }
  return (
    <Confirm
      title={`Delete ${visibleLine(name)}?`}
      does="Delete channel"
      run={remove}
      onClose={onClose}
    >
      <p>What waits for it is given up, and rules that name it tell it no more.</p>
    </Confirm>
  )
}
