import { may } from '../base/rights.ts'
import { go, route } from '../base/route.ts'
import type { StreamInfo } from '../base/stream.ts'
import { streamAddress } from '../base/switch-stream.ts'

/** Which stream the screens are about. The browser's own list: quick to use by keyboard. */
export function StreamPicker({
  streams,
  selected,
}: {
  /** Undefined until they were loaded. */
  streams: readonly StreamInfo[] | undefined
  selected: StreamInfo | undefined
}) {
  if (streams === undefined) {
    return (
      <select class="stream-picker" aria-label="Stream" disabled>
        <option>{pickedText(route.value.streamId)}</option>
      </select>
    )
  }
  if (streams.length === 0) return null
  return (
    <select
      class="stream-picker"
      aria-label="Stream"
      value={selected?.id ?? ''}
      onChange={(event) => go(streamAddress(event.currentTarget.value || undefined))}
    >
      <option value="">All streams</option>
      {streams.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </select>
  )
}

/** Without the list: only who may not list streams has to do with their ids. */
function pickedText(streamId: string | undefined): string {
  if (may('streams:read')) return '…'
  return streamId === undefined ? 'All streams' : `Stream ${streamId}`
}
