/** Tells the other tabs of this browser that an operator has signed in or out. A browser that blocks cookies refuses. */
export const otherTabs = openChannel()

function openChannel(): BroadcastChannel | null {
  try {
    return new BroadcastChannel('homeport-console')
  } catch {
    return null
  }
}
