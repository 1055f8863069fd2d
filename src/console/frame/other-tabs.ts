/** Tells the other tabs of this browser that an operator has signed in or out. */
export const otherTabs = new BroadcastChannel('homeport-console')
