import { visibleLine } from '../../src/language/visible-text.ts'
import { callJson } from '../base/api.ts'
import { clockParam } from '../base/clock.ts'
import { formatAgo, formatCount } from '../base/format.ts'
import { useLoaded } from '../base/loaded.ts'
import { href } from '../base/route.ts'
import { Failure } from '../parts/failure.tsx'

interface Shape {
  readonly shape: string
  readonly events: number
  readonly first_seen_at: string
  readonly last_seen_at: string
  readonly example_event_id: string | null
  readonly paths: readonly { readonly path: string; readonly type: string }[] | null
}

/** The recurring structures of a stream's events, the one met last first. */
export function Shapes({ streamId }: { streamId: string }) {
  const { value, failure } = useLoaded(streamId, (signal) =>
    callJson<{ shapes: readonly Shape[] }>(`streams/${streamId}/shapes`, { signal }),
  )
  if (failure !== undefined) return <Failure text={failure} />
  if (value === undefined) return <p class="quiet">Loading…</p>
  if (value.shapes.length === 0) return <p class="empty">No event has come yet.</p>
  return (
    <div class="scroll">
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Shape</th>
            <th scope="col" class="number">
              Events
            </th>
            <th scope="col">First seen</th>
            <th scope="col">Last seen</th>
            <th scope="col">Example</th>
            <th scope="col">Fields</th>
          </tr>
        </thead>
        <tbody>
          {value.shapes.map((shape) => (
            <tr key={shape.shape}>
              <th scope="row">
                <a
                  class="mono"
                  href={href('explore', streamId, paramsOf(shape, `_shape:${shape.shape}`))}
                >
                  {shape.shape}
                </a>
              </th>
              <td class="number">{formatCount(shape.events)}</td>
              <td>{formatAgo(Date.parse(shape.first_seen_at))}</td>
              <td>{formatAgo(Date.parse(shape.last_seen_at))}</td>
              <td>
                {shape.example_event_id === null ? (
                  '–'
                ) : (
                  <Example streamId={streamId} shape={shape} id={shape.example_event_id} />
                )}
              </td>
              <td>
                <ShapePaths shape={shape} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** One event of the shape; retention may have taken it away. */
function Example({ streamId, shape, id }: { streamId: string; shape: Shape; id: string }) {
  const params = { ...paramsOf(shape, `_id:${id}`), event: id }
  return <a href={href('explore', streamId, params)}>an event</a>
}

/** Since the shape was first received, as the list of shapes has it, whenever events happened. */
function paramsOf({ first_seen_at: first }: Shape, q: string) {
  const from = new Date(Date.parse(first) - 60_000).toISOString()
  return { q, from, basis: clockParam('ingested_at') }
}

function ShapePaths({ shape }: { shape: Shape }) {
  if (shape.paths === null) return <span class="quiet">not described yet</span>
  return (
    <details>
      <summary>{formatCount(shape.paths.length)} fields</summary>
      <p class="mono">
        {shape.paths.map(({ path, type }, index) => (
          <span key={path}>
            {index > 0 && ', '}
            <bdi>{visibleLine(path)}</bdi>: {type}
          </span>
        ))}
      </p>
    </details>
  )
}
