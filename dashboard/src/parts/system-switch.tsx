interface SystemSwitchProps {
  readonly isOn: boolean;
  readonly onChange: (isOn: boolean) => void;
}

/** Whether collections of the service itself are shown as well. */
export function SystemSwitch({ isOn, onChange }: SystemSwitchProps) {
  return (
    <label className="switch">
      <input type="checkbox" checked={isOn} onChange={({ target }) => onChange(target.checked)} />
      System
    </label>
  );
}
