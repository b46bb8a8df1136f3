/** Which streams a command is about: `web`, `web,db`, or `*` for all that the token sees. */
import { splitNames } from '../model/field-path.ts'
import { ApiFailure, type Client, pickStream, type StreamInfo } from './client.ts'
import { UsageError } from './usage-error.ts'

export const STREAMS_USAGE = '<stream | a,b | *>'

export interface ChosenStreams {
  /** Empty where the token may not list them: then only `*` can be meant. */
  readonly streams: readonly StreamInfo[]
  /** Each event names its stream. */
  readonly isSeveral: boolean
  /** For `streams/<id>/search` or, of several, `search`; and so on. */
  readonly pathOf: (verb: string) => string
  /** The members of a request's body that name them. */
  readonly members: { readonly streams?: readonly string[] }
  /** For people. The id where the name is not known. */
  readonly nameOf: (id: string) => string
}

/** Throws `UsageError` and `ApiFailure`. */
export async function chooseStreams(
  client: Client,
  text: string | undefined,
): Promise<ChosenStreams> {
  if (text === undefined) throw new UsageError('name a stream: sluice streams lists them')
  if (text === '*') return chosen(await tryListStreams(client), true, {})
  const all = await client.listStreams()
  // A name may have commas in it.
  const isOne = all.some(({ id, name }) => id === text || name === text)
  const names = isOne ? [text] : splitNames(text).map((name) => name.trim())
  const streams = [...new Set(names.map((name) => pickStream(all, name)))]
  const isSeveral = streams.length > 1
  return chosen(streams, isSeveral, isSeveral ? { streams: streams.map(({ id }) => id) } : {})
}

/** A token that may only read events finds them all the same; they have no names then. */
async function tryListStreams(client: Client): Promise<readonly StreamInfo[]> {
  try {
    return await client.listStreams()
  } catch (cause) {
    if (cause instanceof ApiFailure && cause.status === 403) return []
    throw cause
  }
}

function chosen(
  streams: readonly StreamInfo[],
  isSeveral: boolean,
  members: ChosenStreams['members'],
): ChosenStreams {
  const names = new Map(streams.map(({ id, name }) => [id, name]))
  const counts = new Map<string, number>()
  for (const { name } of streams) counts.set(name, (counts.get(name) ?? 0) + 1)
  return {
    streams,
    isSeveral,
    members,
    pathOf: (verb) => (isSeveral ? verb : `streams/${streams[0]!.id}/${verb}`),
    nameOf: (id) => {
      const name = names.get(id) ?? id
      // Owners do not know each other's names; who sees all may see one twice.
      return (counts.get(name) ?? 1) > 1 ? `${name} (${id})` : name
    },
  }
}
