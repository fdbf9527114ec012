"""Pure values and algorithms of the engine; nothing here touches the world."""
