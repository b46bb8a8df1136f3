/** The stream that an option names, made where there is none. */
import { IngestError } from '../errors.ts'
import type { Stream } from '../model/stream.ts'
import type { ControlStore } from '../store/control/control-store.ts'
import { readNewSettings } from './stream-settings.ts'

/** As of the first admin token. */
const OWNER = 'admin'

/** Rejects when the name is none, and when several owners have a stream of it. */
export async function streamNamed(
  control: Pick<ControlStore, 'findStreamsNamed' | 'createStream'>,
  name: string,
  onMade: (stream: Stream) => void,
): Promise<Stream> {
  const settings = readNewSettings({ name })
  const [found, ...others] = await control.findStreamsNamed(settings.name)
  if (others.length > 0) {
    throw new Error(`several owners have a stream "${name}"; give its id instead`)
  }
  if (found !== undefined) return found
  try {
    const made = await control.createStream(OWNER, settings)
    onMade(made)
    return made
  } catch (cause) {
    // Another node was faster.
    const isThere = cause instanceof IngestError && cause.code === 'conflict'
    const [one] = isThere ? await control.findStreamsNamed(settings.name) : []
    if (one === undefined) throw cause
    return one
  }
}
