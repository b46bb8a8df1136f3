import { go, href, route } from '../base/route.ts'
import type { StreamInfo } from '../base/stream.ts'

/** Which stream the screens are about. The browser's own list: quick to use by keyboard. */
export function StreamPicker({
  streams,
  selected,
}: {
  streams: readonly StreamInfo[]
  selected: StreamInfo | undefined
}) {
  if (streams.length === 0) return null
  return (
    <select
      class="stream-picker"
      aria-label="Stream"
      value={selected?.id ?? ''}
      onChange={(event) => {
        const { screen } = route.value
        go(href(screen, event.currentTarget.value || undefined))
      }}
    >
      <option value="">{selected === undefined ? 'Choose a stream' : 'All streams'}</option>
      {streams.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </select>
  )
}
