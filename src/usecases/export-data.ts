/** What each feature holds about a person, by the name under which the export shows it. */
type ExportParts = Record<string, (userId: string) => Promise<unknown>>

/** Everything that is held about a person: whatever deleting the account would remove is in it. */
export function createExportData(parts: ExportParts) {
  return async (userId: string): Promise<Record<string, unknown>> => {
    const exported: Record<string, unknown> = {}
    for (const [name, read] of Object.entries(parts)) exported[name] = await read(userId)
    return exported
  }
}
