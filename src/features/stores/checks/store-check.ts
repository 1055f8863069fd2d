/** `fault`: what is wrong and what to do; null if the check passed. */
export type StoreCheck = { what: string; fault: string | null }

const NO_URL = 'Set BASE_URL to the public address of this server, beginning with https://.'

/** The URL for a store's notifications; null unless `publicUrl` uses https. `path` begins with a slash. */
export function notificationUrl(publicUrl: string | null, path: string): string | null {
  return publicUrl?.startsWith('https://') ? publicUrl + path : null
}

/** Checks that a setting has a value, and shows the value. If not, `missing` says what to set. */
export function checkSet(name: string, value: string | null, missing = NO_URL): StoreCheck {
  return { what: `${name} ${value ?? ''}`.trim(), fault: value === null ? missing : null }
}

/** The message of the error that `work` throws; null if it throws none. */
export async function findProblem(work: () => Promise<void>): Promise<string | null> {
  try {
    await work()
    return null
  } catch (error) {
    return error instanceof Error ? error.message : 'unknown'
  }
}

export function formatChecks(checks: StoreCheck[]): string {
  return checks
    .map(({ what, fault }) => (fault === null ? `ok\t${what}` : `FAILED\t${what}: ${fault}`))
    .join('\n')
}

export function hasProblem(checks: StoreCheck[]): boolean {
  return checks.some(({ fault }) => fault !== null)
}
