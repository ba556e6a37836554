interface GeoPointEditorProps {
  readonly id: string;
  readonly value: unknown;
  readonly onChange: (value: { readonly lon: number; readonly lat: number }) => void;
}

export function GeoPointEditor({ id, value, onChange }: GeoPointEditorProps) {
  const point = pointOf(value);
  const part = (name: 'lon' | 'lat', label: string, limit: number) => (
    <input
      id={name === 'lon' ? id : `${id}-${name}`}
      className="input"
      type="number"
      step="any"
      min={-limit}
      max={limit}
      aria-label={label}
      value={point[name]}
      onChange={(event) => onChange({ ...point, [name]: event.target.valueAsNumber || 0 })}
    />
  );
  return (
    <div className="pair">
      {part('lon', 'Longitude', 180)}
      {part('lat', 'Latitude', 90)}
    </div>
  );
}

function pointOf(value: unknown): { readonly lon: number; readonly lat: number } {
  if (typeof value !== 'object' || value === null || !('lon' in value) || !('lat' in value))
    return { lon: 0, lat: 0 };
  return { lon: Number(value.lon), lat: Number(value.lat) };
}
