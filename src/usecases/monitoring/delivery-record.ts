/** How deliveries of the billing provider were answered lately. */
export type DeliveryRecord = {
  acceptedAt: string | null
  /** The last one that was refused. */
  refused: { at: string; status: number; code: string } | null
}

export function createDeliveryRecord(now: () => Date) {
  const record: DeliveryRecord = { acceptedAt: null, refused: null }
  return { note, read: () => record }

  function note(status: number, code: string) {
    const at = now().toISOString()
    if (status === 200) record.acceptedAt = at
    else record.refused = { at, status, code }
  }
}
