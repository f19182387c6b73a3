"""Two arms that capture a tumbling body: plan, approach, touch, hold; and the supervisor that decides which when."""
