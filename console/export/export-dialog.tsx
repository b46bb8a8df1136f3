/** What is exported and how; then how far it is, and how it ended. */
import { type Signal, useSignal } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { visibleLine } from '../../src/language/visible-text.ts'
import { CLOCK_NAMES } from '../base/clock.ts'
import { formatBytes, formatEvents } from '../base/format.ts'
import { closeDialog, openDialog, route } from '../base/route.ts'
import { findStream } from '../base/stream.ts'
import { formatTime, rangeLabel, zoneName } from '../base/time.ts'
import { type Ask, ask } from '../explore/ask.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Failure } from '../parts/failure.tsx'
import { tell } from '../parts/notices.tsx'
import { type CountBefore, useCountBefore } from './count-before.ts'
import { type ExportFile, openExportFile } from './export-file.ts'
import { ExportForm, type FormState, useFormState } from './export-form.tsx'
import { fileName } from './file-name.ts'
import { type ExportResult, exportFailure, type Progress, runExport } from './run-export.ts'

type Run =
  | { readonly kind: 'asking'; readonly failure?: string | undefined }
  | { readonly kind: 'running'; readonly name: string; readonly progress: Progress }
  | { readonly kind: 'ended'; readonly name: string; readonly result: ExportResult }

/** How often the progress is drawn. */
const DRAWN_MS = 200

/** The button of Explore, and the dialog. */
export function ExportButton({ isAsked }: { isAsked: boolean }) {
  const isOpen = isAsked && route.value.params.get('dialog') === 'export'
  // What was shown when it was opened.
  const asked = useMemo(() => ask.value, [isOpen])
  return (
    <>
      <button
        type="button"
        id="export"
        disabled={!isAsked}
        title={isAsked ? 'What is shown, as a file (e)' : 'The query cannot be read'}
        onClick={() => openDialog('export')}
      >
        <span aria-hidden="true">{'↓ '}</span>
        Export
      </button>
      {isOpen && <ExportDialog ask={asked} onClose={() => closeDialog('export')} />}
    </>
  )
}

function ExportDialog({ ask, onClose }: { ask: Ask; onClose: () => void }) {
  const run = useSignal<Run>({ kind: 'asking' })
  const form = useFormState(ask)
  const count = useCountBefore(ask)
  const gone = useRef(new AbortController()).current
  // Whoever leaves, by Escape as well, gives it up.
  useEffect(() => () => gone.abort(), [])
  const close = () => {
    if (run.value.kind === 'running') tell('The export was given up: nothing is saved')
    onClose()
  }
  // Where a file is being chosen, another one cannot be.
  const isChoosing = useRef(false)
  const start = async (event: Event) => {
    event.preventDefault()
    if (isChoosing.current) return
    isChoosing.current = true
    await save(ask, form, run, gone.signal)
    isChoosing.current = false
  }
  const { value: now } = run
  return (
    <Dialog title="Export" onClose={close}>
      <About ask={ask} count={count} />
      {now.kind === 'asking' && (
        <ExportForm ask={ask} form={form} onSubmit={(event) => void start(event)} onCancel={close}>
          {now.failure !== undefined && <Failure text={now.failure} />}
        </ExportForm>
      )}
      {now.kind === 'running' && <Running {...now} count={count} onCancel={close} />}
      {now.kind === 'ended' && <Ended {...now} onClose={close} />}
    </Dialog>
  )
}

/** From the click to the end; what happens is in `run`. */
async function save(
  ask: Ask,
  form: FormState,
  run: Signal<Run>,
  signal: AbortSignal,
): Promise<void> {
  const { kind, wish } = form
  if (wish === undefined || run.value.kind !== 'asking') return
  try {
    const stream = findStream(ask.streamId)?.name ?? (ask.streamId ? `stream-${ask.streamId}` : '')
    const ending = kind === 'csv' ? 'csv' : 'ndjson'
    const file = await openExportFile(fileName(stream, formatTime(Date.now(), 0), ending))
    if (file === undefined) return
    if (signal.aborted) return await file.drop()
    const progress = { events: 0, bytes: 0 }
    run.value = { kind: 'running', name: file.name, progress }
    const result = await runExport(wish, file, drawn(run, file), signal)
    run.value = { kind: 'ended', name: file.name, result }
  } catch (cause) {
    run.value = { kind: 'asking', failure: exportFailure(cause) }
  }
}

/** Draws now and then what it is told. */
function drawn(run: Signal<Run>, { name }: ExportFile): (progress: Progress) => void {
  let nextMs = 0
  return (progress) => {
    if (performance.now() < nextMs) return
    nextMs = performance.now() + DRAWN_MS
    run.value = { kind: 'running', name, progress }
  }
}

function About({ ask, count }: { ask: Ask; count: CountBefore }) {
  const { query, from, to, clock } = ask
  return (
    <dl class="terms is-short">
      <div>
        <dt>Query</dt>
        <dd>{query.trim() === '' ? 'all events' : <code>{visibleLine(query)}</code>}</dd>
      </div>
      <div>
        <dt>{CLOCK_NAMES[clock]}</dt>
        <dd>
          {rangeLabel(from, to)} <span class="quiet">({zoneName()})</span>
        </dd>
      </div>
      <div>
        <dt>Events</dt>
        <dd>
          <span role="status">{count.text}</span>
        </dd>
      </div>
    </dl>
  )
}

interface RunningProps {
  readonly name: string
  readonly progress: Progress
  readonly count: CountBefore
  readonly onCancel: () => void
}

function Running({ name, progress: { events, bytes }, count, onCancel }: RunningProps) {
  const cancel = useRef<HTMLButtonElement>(null)
  // The button that had it is gone.
  useEffect(() => cancel.current?.focus(), [])
  const share = count.total === undefined ? undefined : { max: Math.max(count.total, events, 1) }
  return (
    <>
      <progress class="wide" aria-label="Progress" {...share} {...(share && { value: events })} />
      <p class="export-progress">
        {formatEvents(events)}, {formatBytes(bytes)} <span class="quiet">into {name}</span>
      </p>
      <div class="buttons">
        <button type="button" ref={cancel} onClick={onCancel}>
          Cancel the export
        </button>
      </div>
    </>
  )
}

interface EndedProps {
  readonly name: string
  readonly result: ExportResult
  readonly onClose: () => void
}

function Ended({ name, result: { events, bytes, reason }, onClose }: EndedProps) {
  const close = useRef<HTMLButtonElement>(null)
  useEffect(() => close.current?.focus(), [])
  const what = `${formatEvents(events)}, ${formatBytes(bytes)}, in ${name}`
  return (
    <>
      {reason === undefined ? (
        <p class="export-end" role="status">
          <strong>Complete</strong>: {what}.
        </p>
      ) : (
        <Failure text={`Incomplete: ${visibleLine(reason)}.`}>
          <p>{what}. The file's last line says the same.</p>
        </Failure>
      )}
      <div class="buttons">
        <button type="button" class="primary" ref={close} onClick={onClose}>
          Close
        </button>
      </div>
    </>
  )
}
