/** A key to press: `Mod` is ⌘ where there is one, else Ctrl. */
export function Key({ keys }: { readonly keys: string }) {
  return <kbd className="key">{keys.replace('Mod', isMac ? '⌘' : 'Ctrl ')}</kbd>;
}

const isMac = /mac|iphone|ipad/i.test(navigator.userAgent);
