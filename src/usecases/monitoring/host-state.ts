/** `validTo` is null until there is a certificate. */
type CertificateState = { isFailing: boolean; validTo: Date | null }

/** `fault`: why backups are not written as scheduled; null when they are, or none are scheduled. */
export type BackupState = { newestAt: Date | null; isScheduled: boolean; fault: string | null }

/** What only the process around the services knows. */
export type HostState = {
  /** Null where TLS is somebody else's. */
  certificate: (() => CertificateState) | null
  backup: () => Promise<BackupState>
}

/** That of a process without backups or TLS. */
export const NO_HOST_STATE: HostState = {
  certificate: null,
  backup: async () => ({ newestAt: null, isScheduled: false, fault: null }),
}
