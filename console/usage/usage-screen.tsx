/** What a stream takes, and what was refused and why. */
import { formatAgo, formatBytes, formatCount, formatSeconds } from '../base/format.ts'
import { may } from '../base/rights.ts'
import { findStream, type Refusal, type Usage } from '../base/stream.ts'
import { ChooseStream } from '../parts/choose-stream.tsx'
import { Failure } from '../parts/failure.tsx'
import { Conflicts } from '../schema/conflicts.tsx'
import { useUsage } from '../streams/usage-of.ts'
import { EventsOverTime } from './events-over-time.tsx'
import { RangeTabs } from './range.tsx'
import { RefusedRequests } from './refused-requests.tsx'
import { SentByKey } from './sent-by-key.tsx'
import { SinceOpened } from './since-opened.tsx'

export function UsageScreen({ streamId }: { streamId: string | undefined }) {
  const stream = findStream(streamId)
  if (stream === undefined) return <NoStream />
  return (
    <section>
      <div class="heading">
        <h1>Usage of {stream.name}</h1>
      </div>
      <StreamUsage key={stream.id} streamId={stream.id} />
    </section>
  )
}

/** What came without a known key is of no stream: admins see it beside the choice of one. */
function NoStream() {
  if (!may('admin')) return <ChooseStream screen="usage" />
  return (
    <section>
      <RangeTabs />
      <RefusedRequests
        title="Requests refused without a known key"
        none="None in this time."
        path="refusals"
      />
      <ChooseStream screen="usage" />
    </section>
  )
}

function StreamUsage({ streamId }: { streamId: string }) {
  const { value: usage, failure } = useUsage(streamId)
  if (usage === undefined) {
    return failure === undefined ? <p class="quiet">Loading…</p> : <Failure text={failure} />
  }
  return (
    <>
      {failure !== undefined && <Failure text={`These figures are old: ${failure}`} />}
      <Stored usage={usage} />
      <RangeTabs />
      <EventsOverTime streamId={streamId} />
      <SentByKey streamId={streamId} />
      <RefusedRequests
        title="Requests refused"
        none="No request with a key of this stream was refused in this time."
        path={`streams/${streamId}/refusals`}
      />
      <Reasons
        title="Requests refused, of all time"
        none="No request with a key of this stream was refused."
        reasons={usage.refusals}
      />
      <Reasons
        title="Events rejected"
        none="No event was rejected out of a request that was taken."
        reasons={usage.rejected_events}
      />
      <Reasons
        title="Segments that queries do not see"
        none="Queries see all that is stored."
        reasons={usage.projection.set_aside}
      />
      <SinceOpened usage={usage} />
      <Conflicts streamId={streamId} count={usage.schema.type_conflicts} />
    </>
  )
}

function Stored({ usage }: { usage: Usage }) {
  const { raw, projection } = usage.stored_bytes
  const perEvent = usage.events === 0 ? undefined : (raw + (projection ?? 0)) / usage.events
  const rows: readonly (readonly [label: string, value: string])[] = [
    ['Events', formatCount(usage.events)],
    ['As sent', formatBytes(usage.raw_bytes)],
    ['On disk, events', formatBytes(raw)],
    ['On disk, for queries', projection === null ? 'not known now' : formatBytes(projection)],
    ['On disk an event', perEvent === undefined ? '–' : formatBytes(perEvent)],
    ['Oldest event', timeText(usage.oldest_event_at)],
    ['Newest event', timeText(usage.newest_event_at)],
    ['Queries are behind by', formatSeconds(usage.projection.lag_seconds)],
  ]
  return (
    <dl class="figures">
      {rows.map(([label, value]) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

function timeText(time: string | null): string {
  return time === null ? 'none' : formatAgo(Date.parse(time))
}

interface ReasonsProps {
  readonly title: string
  readonly none: string
  readonly reasons: readonly Refusal[]
}

function Reasons({ title, none, reasons }: ReasonsProps) {
  return (
    <>
      <h2>{title}</h2>
      {reasons.length === 0 ? (
        <p class="quiet">{none}</p>
      ) : (
        <table class="table is-narrow">
          <thead>
            <tr>
              <th scope="col">Reason</th>
              <th scope="col" class="number">
                How many
              </th>
              <th scope="col">Last</th>
            </tr>
          </thead>
          <tbody>
            {reasons.map(({ reason, count, last_at: lastAt }) => (
              <tr key={reason}>
                <th scope="row">{reason.replaceAll('_', ' ')}</th>
                <td class="number">{formatCount(count)}</td>
                <td>{formatAgo(Date.parse(lastAt))}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  )
}
