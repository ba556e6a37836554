/** The mark of Chancery. */
export function Seal({ size = 22 }: { readonly size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 24 24" aria-hidden>
      <rect width="24" height="24" rx="6" fill="var(--accent-fill)" />
      <path
        d="M16.3 8.7a5.2 5.2 0 1 0 0 6.6"
        fill="none"
        stroke="#fff"
        strokeWidth="2.4"
        strokeLinecap="round"
      />
      <circle cx="12" cy="12" r="1.6" fill="#fff" />
    </svg>
  );
}
