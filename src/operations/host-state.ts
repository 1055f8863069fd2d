/** `validTo` is null until there is a certificate. */
type CertificateState = { isFailing: boolean; validTo: Date | null }

/** `fault`: why scheduled backups are not written; null when they are, or when none are scheduled. */
export type BackupState = { newestAt: Date | null; isScheduled: boolean; fault: string | null }

/** State that only the process around the services knows. */
export type HostState = {
  /** Null when this process does not terminate TLS. */
  certificate: (() => CertificateState) | null
  backup: () => Promise<BackupState>
}

export const NO_HOST_STATE: HostState = {
  certificate: null,
  backup: async () => ({ newestAt: null, isScheduled: false, fault: null }),
}
