/** Tells this browser's other tabs that an operator has signed in or out. Null where the browser blocks cookies. */
export const otherTabs = openChannel()

function openChannel(): BroadcastChannel | null {
  try {
    return new BroadcastChannel('homeport-console')
  } catch {
    return null
  }
}
