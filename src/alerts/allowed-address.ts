/**
 * The address of a name that a client gave, once it was judged, so that nobody reaches the inside
 * by it: the name is resolved once, each of its addresses is judged, and the one that was judged is
 * the one to connect to.
 */
import { promises as dns, type LookupAddress } from 'node:dns'
import { isPublicAddress } from './public-address.ts'

/** The address may not be used; another try changes nothing. */
export class AddressRefusedError extends Error {}

export type Resolve = (host: string) => Promise<readonly LookupAddress[]>

const resolveName: Resolve = (host) => dns.lookup(host, { all: true, verbatim: true })

/** Rejects with `AddressRefusedError`, or when there is no address in time. */
export async function allowedAddress(
  host: string,
  allowsPrivate: boolean,
  signal: AbortSignal,
  resolve: Resolve = resolveName,
): Promise<LookupAddress> {
  const addresses = await within(
    signal,
    resolve(host).catch(() => {
      throw new Error('the name could not be resolved')
    }),
  )
  const [address] = addresses
  if (address === undefined) throw new Error('the name has no address')
  if (allowsPrivate || addresses.every((one) => isPublicAddress(one.address))) return address
  throw new AddressRefusedError('its address is not one of the internet')
}

async function within<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  let onAbort: () => void = () => undefined
  const ended = new Promise<never>((_, reject) => {
    onAbort = () => reject(new Error('no answer in time'))
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort)
  })
  try {
    return await Promise.race([work, ended])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
