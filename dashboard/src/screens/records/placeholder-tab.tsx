/** Stands in the drawer where the lines of a tab will be. */
export function PlaceholderTab() {
  return (
    <div className="drawer-body" aria-busy>
      <div className="drawer-form">
        {[220, 160, 240, 180].map((inlineSize) => (
          <span key={inlineSize} className="placeholder" style={{ inlineSize }} />
        ))}
      </div>
    </div>
  );
}
