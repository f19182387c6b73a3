"""What a person sees: pictures, reports, replays, and the viewer in the browser."""
