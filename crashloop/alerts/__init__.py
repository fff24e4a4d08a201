"""Alerts are behaviour: which of the user's rules a recorded crash loop fires, evaluated by Prometheus' own promtool."""
