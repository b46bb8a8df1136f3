/**
 * Milliseconds of CPU that this process has used. Tests that bound what work takes go by it: a busy
 * machine makes everything late, but costs a process no more.
 */
export function cpuNow(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}
