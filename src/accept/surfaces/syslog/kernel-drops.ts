/** What the kernel dropped of a UDP socket because its receive buffer was full. */
import { readFile } from 'node:fs/promises'

/** Columns of /proc/net/udp and udp6. */
const LOCAL_ADDRESS = 1
const DROPS = 12

/**
 * Datagrams dropped since the socket at this port was bound; undefined where the kernel does not
 * say. Of several sockets at one port, at addresses of their own, the sum.
 */
export async function readKernelDrops(
  port: number,
  directory = '/proc/net',
): Promise<number | undefined> {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  let drops: number | undefined
  for (const name of ['udp', 'udp6']) {
    const text = await readFile(`${directory}/${name}`, 'utf8').catch(() => '')
    for (const line of text.split('\n').slice(1)) {
      const columns = line.trim().split(/\s+/)
      if (columns[LOCAL_ADDRESS]?.endsWith(suffix) !== true) continue
      drops = (drops ?? 0) + Number(columns[DROPS] ?? 0)
    }
  }
  return drops
}
