/** Stands where lines will be. */
export function PlaceholderLines({ count }: { readonly count: number }) {
  return (
    <div className="page" aria-busy>
      {Array.from({ length: count }, (_, index) => (
        <span key={index} className="placeholder" style={{ blockSize: 30, inlineSize: '100%' }} />
      ))}
    </div>
  );
}
