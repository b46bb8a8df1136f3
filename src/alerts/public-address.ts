/** Whether an address is of the internet: not of this machine, its network, or of nobody. */
import { BlockList, isIPv6 } from 'node:net'

const [INSIDE, INSIDE_V6] = [new BlockList(), new BlockList()]
for (const [net, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const) {
  INSIDE.addSubnet(net, bits, 'ipv4')
}
for (const [net, bits] of [
  // Of IPv6 only global unicast is of the internet, less what leads to IPv4 addresses.
  ['::', 3],
  ['4000::', 2],
  ['8000::', 1],
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const) {
  INSIDE_V6.addSubnet(net, bits, 'ipv6')
}

/** `address` is what a name was resolved to. An IPv4 address in the form of IPv6 is not public. */
export function isPublicAddress(address: string): boolean {
  return isIPv6(address) ? !INSIDE_V6.check(address, 'ipv6') : !INSIDE.check(address, 'ipv4')
}
