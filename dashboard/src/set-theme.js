/*
 * Sets theme and density before the first paint; see tools/build/dashboard.ts. The keys are those of app/preferences.ts. A plain script, not
 * a module, as those run after the paint.
 */
(() => {
  try {
    const { dataset } = document.documentElement;
    dataset.theme =
      localStorage.getItem('chancery:theme') ?? localStorage.getItem('chancery:suggested-theme') ?? 'auto';
    dataset.density = localStorage.getItem('chancery:density') ?? 'regular';
  } catch {
    // A browser that keeps nothing for us shows the theme of the system.
  }
})();
